import { ADDRCONFIG, type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { Agent, Pool, buildConnector } from 'undici';
import { policyHost, policyPort, type AddressPolicy } from './policy.ts';

/** An address that the policy does not let this process dial. Nothing was sent to it. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
  readonly host: string;
  readonly address: string;
  /** what the address is: `a loopback address` */
  readonly reason: string;

  constructor(host: string, address: string, reason: string) {
    super(host === address ? `${address} is ${reason}` : `${host} resolves to ${address}, which is ${reason}`);
    this.host = host;
    this.address = address;
    this.reason = reason;
  }
}

/** Every address of a name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface GuardOptions {
  readonly resolve?: Resolve;
  /** milliseconds for name, TCP and TLS together; default 10,000 */
  readonly connectTimeoutMs?: number;
  /** certificates to trust, PEM, instead of the system's */
  readonly ca?: string[];
  /** limits of the connections themselves: `headersTimeout`, `maxHeaderSize`, `connections` … */
  readonly pool?: Omit<Agent.Options, 'connect' | 'factory' | 'allowH2'>;
}

/** A connection stays bound to the address that was vetted for it, so idle ones are soon let go. */
const IDLE_CONNECTION_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Asks the system, as `net.connect` would. */
export const resolveBySystem: Resolve = (host) => lookup(host, { all: true, hints: ADDRCONFIG });

/**
 * An undici agent that dials only what the policy allows. A name is resolved once per connection; when any of its addresses is refused
 * the connection is (fail closed), else exactly the vetted addresses are dialled, so a second answer of the name server is never used.
 * Literals, for which no look-up happens, are vetted too, and the peer's address is checked again once connected.
 * Requests fail with `AddressRefused`. Redirects are the caller's: each hop is a new request here.
 */
export function guardedAgent(policy: AddressPolicy, options: GuardOptions = {}): Agent {
  return new Agent({
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    ...options.pool,
    allowH2: false,
    factory: (origin, pool: Pool.Options) =>
      new Pool(origin, { ...pool, connect: guardedConnector(policy, policyPort(new URL(origin)), options) }),
  });
}

function guardedConnector(policy: AddressPolicy, port: number, options: GuardOptions): buildConnector.connector {
  const vet = (host: string, address: string): void => {
    const verdict = policy.judge({ host, address, port });
    if (!verdict.allow) throw new AddressRefused(host, address, verdict.reason);
  };
  const connect = buildConnector({
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    allowH2: false,
    lookup: vettedLookup(options.resolve ?? resolveBySystem, vet),
  });
  return (target, callback) => {
    const host = policyHost(target.hostname);
    try {
      if (isIP(host) !== 0) vet(host, host);
    } catch (error) {
      callback(asError(error), null);
      return;
    }
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      try {
        vet(host, socket.remoteAddress ?? '');
      } catch (refusal) {
        socket.destroy();
        return callback(asError(refusal), null);
      }
      return callback(null, socket);
    });
  };
}

/** The look-up that a connection uses; `net.connect` asks for all addresses at once when it may choose between families. */
function vettedLookup(resolve: Resolve, vet: (host: string, address: string) => void): LookupFunction {
  const vetted = async (hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> => {
    const host = policyHost(hostname);
    const [first, ...others] = await resolve(host);
    if (first === undefined) throw Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' });
    for (const { address } of [first, ...others]) vet(host, address);
    return [first, ...others];
  };
  const answer = callbackify(vetted);
  return (hostname, options, callback) =>
    answer(hostname, (error, addresses) => {
      if (error !== null) return callback(error, []);
      return options.all === true ? callback(null, addresses) : callback(null, addresses[0].address, addresses[0].family);
    });
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
