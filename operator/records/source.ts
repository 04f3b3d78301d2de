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

/** Where declarations come from: a directory here, ConfigMaps in a cluster. */
export interface Source {
  /** Starts to watch. `changed` gets the first snapshot and every later one. */
  start(changed: (snapshot: Snapshot) => void): Promise<void>;
  /** the namespace that a source's name belongs to, whether it exists or not */
  namespaceOf(source: string): string;
  /** the namespace that toolyard's own names belong to */
  readonly installNamespace: string;
  /** which addresses a declaration of this namespace may have probed */
  addressPolicy(namespace: string): AddressPolicy;
  /** @returns undefined when there are none of that name, or they are not meant for probing */
  credentials(auth: NonNullable<Address['auth']>): Promise<Credentials | undefined>;
  close(): Promise<void>;
}
