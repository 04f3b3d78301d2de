import { isIP } from 'node:net';
import { aborted } from 'node:util';
import { ProxyAgent, type Dispatcher } from 'undici';
import { AddressRefused, resolveBySystem, type Resolve } from './guard.ts';
import { policyHost, policyPort, type AddressPolicy } from './policy.ts';

export interface ProxyGuardOptions {
  readonly resolve?: Resolve;
  /** limits of the connections themselves */
  readonly pool?: Omit<ProxyAgent.Options, 'uri' | 'allowH2'>;
}

/**
 * A dispatcher that sends everything through a proxy, and only what the policy allows by this machine's own look-up. That is less than
 * `guardedAgent` promises: the proxy looks names up again, and a name that is unknown here passes, since it may be known there. What can
 * be reached is in the end the proxy's own decision.
 */
export function guardedProxy(
  policy: AddressPolicy,
  proxy: URL,
  { resolve = resolveBySystem, pool = {} }: ProxyGuardOptions = {},
): Dispatcher {
  const vet = async (origin: URL): Promise<void> => {
    const host = policyHost(origin.hostname);
    const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [{ address: host }];
    for (const { address } of addresses) {
      const verdict = policy.judge({ host, address, port: policyPort(origin) });
      if (!verdict.allow) throw new AddressRefused(host, address, verdict.reason);
    }
  };
  return new ProxyAgent({ ...pool, uri: proxy.href, allowH2: false }).compose((dispatch) => (options, handler) => {
    const { signal } = options as Dispatcher.RequestOptions;
    const admitted = vet(new URL(options.origin ?? ''));
    // a look-up goes on for as long as its name server is silent; whoever waits for it need not
    (signal instanceof AbortSignal ? Promise.race([admitted, leaving(signal, options)]) : admitted)
      .then(() => void dispatch(options, handler))
      // as undici's own interceptors report before there is a connection
      .catch((error: Error) => handler.onResponseError?.(null as never, error));
    return true;
  });
}

async function leaving(signal: AbortSignal, waiting: object): Promise<never> {
  await aborted(signal, waiting);
  throw signal.reason as Error;
}
