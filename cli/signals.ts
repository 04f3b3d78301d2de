/** What ends a command that runs until it is told to stop. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The first signal ends `asked`; a second one calls `atOnce`. Until `release` is called nothing else happens on a signal, so that what was
 * started can be stopped in order.
 */
export function onSignals(atOnce: () => void): { readonly asked: Promise<NodeJS.Signals>; release(): void } {
  const { promise: asked, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let times = 0;
  const listener = (signal: NodeJS.Signals): void => {
    times += 1;
    if (times === 1) resolve(signal);
    else atOnce();
  };
  for (const signal of endings) process.on(signal, listener);
  return {
    asked,
    release() {
      for (const signal of endings) process.off(signal, listener);
    },
  };
}
