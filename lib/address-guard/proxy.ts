import { isIP } from 'node:net';
import { ProxyAgent, type Dispatcher } from 'undici';
import { AddressRefused, resolveBySystem, type Resolve } from './guard.ts';
import { policyHost, policyPort, type AddressPolicy } from './policy.ts';

export interface ProxyGuardOptions {
  readonly resolve?: Resolve;
  /** limits of the connections themselves */
  readonly pool?: Omit<ProxyAgent.Options, 'uri'>;
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
  return new ProxyAgent({ ...pool, uri: proxy.href }).compose((dispatch) => (options, handler) => {
    vet(new URL(options.origin ?? '')).then(
      () => dispatch(options, handler),
      // as undici's own interceptors report before there is a connection
      (error: Error) => handler.onResponseError?.(null as never, error),
    );
    return true;
  });
}
