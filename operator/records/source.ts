import type { Resolve } from '../../lib/address-guard/guard.ts';
import type { AddressPolicy } from '../../lib/address-guard/policy.ts';
import type { RawDeclaration } from './declaration.ts';
import type { Credentials } from './probe.ts';
import type { Address } from './target.ts';

/** Everything that a source declares at one moment. */
export interface Snapshot {
  readonly declarations: readonly RawDeclaration[];
  /** undefined when everything was read; otherwise why not: then nothing that is missing counts as gone */
  readonly incomplete?: string;
}

/**
 * Why there are no credentials: `missing`, or without what they need; `forbidden` to the operator; `withheld`, since they do not say that they
 * are for probing.
 */
export type NoCredentials = 'missing' | 'forbidden' | 'withheld';

/** What the address guard needs. */
export interface Network {
  readonly policy: AddressPolicy;
  /** @default as the system does */
  readonly resolve?: Resolve;
}

/** Where declarations come from: a directory here, ConfigMaps in a cluster. */
export interface Source {
  /** Starts to watch. `changed` gets the first snapshot and every later one. */
  start(changed: (snapshot: Snapshot) => void): Promise<void>;
  /** the namespace that a source's name belongs to, whether it exists or not */
  namespaceOf(source: string): string;
  /** the namespace that toolyard's own names belong to */
  readonly installNamespace: string;
  /** which addresses a declaration of this namespace may have probed, and how names become addresses */
  network(namespace: string): Network;
  /** @param anew what was read a moment ago does not do: the server refused it */
  credentials(auth: NonNullable<Address['auth']>, anew?: boolean): Promise<Credentials | NoCredentials>;
  close(): Promise<void>;
}
