import { exit, type ExitCode } from '../exit.ts';
import { onSignals } from '../signals.ts';
import { isolationOf } from '../stack/isolation.ts';
import type { Ports } from '../stack/ports.ts';
import { Stack } from '../stack/stack.ts';
import { stateDir } from '../stack/state-dir.ts';
import { shownPath, type Terminal } from '../terminal.ts';
import { Screen } from './screen.ts';

export interface UpRequest {
  /** the checkout */
  readonly home: string;
  readonly catalog: string;
  readonly state: string;
  readonly ports: Ports;
}

/** Runs the stack until a signal, or until a part cannot be kept running. */
export async function up({ home, catalog, state, ports }: UpRequest, terminal: Terminal): Promise<ExitCode> {
  const screen = new Screen(terminal, { catalog });
  const stack = await Stack.start({
    home,
    catalog,
    state: stateDir(state),
    ports,
    env: process.env,
    onChange: (model) => screen.show(model),
  });
  const signals = onSignals(() => {
    stack.kill();
    process.exit(exit.no);
  });
  screen.open(stack.model, `toolyard, state in ${shownPath(state)}`);
  void stack.settled.then(async () => screen.ready(await isolationOf(stack.model)));
  const end = await Promise.race([signals.asked, stack.failed]);
  screen.stopping();
  await stack.stop();
  signals.release();
  if (end instanceof Error) throw end;
  screen.stopped();
  return exit.done;
}
