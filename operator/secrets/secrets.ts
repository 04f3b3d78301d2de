import { randomBytes } from 'node:crypto';
import type { Log } from '../../lib/log.ts';
import type { Generated } from '../config.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { objectPath, paths, type ConfigMap, type KubeObject, type Secret } from '../../lib/kube/objects.ts';
import { certificateFacts, isSignedBy } from './certificates.ts';
import type { KeyPair } from './issue.ts';
import { GENERATED_ANNOTATION, planAuthority, planCertificate, planHex } from './plan.ts';

export interface SecretsOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly wanted: readonly Generated[];
  readonly log: Log;
  /** whether this process is the one that works */
  readonly mayWrite: () => boolean;
  /** Unix ms */
  readonly now?: () => number;
}

type Wanted<K extends Generated['is']> = Extract<Generated, { is: K }>;

/**
 * Makes what GENERATE lists when it is missing, and renews certificates. Values are never logged, and what somebody else made is used as it is.
 */
export class Secrets {
  readonly #options: SecretsOptions;
  readonly #now: () => number;
  readonly #told = new Map<string, string>();

  constructor(options: SecretsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Looks at everything once. The authority comes first, since it signs.
   * @returns certificates of the authority, PEM, that clients should trust; undefined without one
   * @throws KubeError when one of them cannot be read or written; the others were done all the same
   */
  async keep(signal: AbortSignal): Promise<string | undefined> {
    const { wanted } = this.#options;
    const failures: unknown[] = [];
    const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
        return undefined;
      }
    };
    const authorityWish = wanted.find((one) => one.is === 'ca');
    const authority = authorityWish === undefined ? undefined : await attempt(() => this.#authority(authorityWish, signal));
    for (const one of wanted) {
      if (one.is === 'hex') await attempt(() => this.#hex(one, signal));
      if (one.is === 'certificate' && authority !== undefined) await attempt(() => this.#certificate(one, authority, signal));
    }
    if (failures.length > 0) throw failures[0];
    return authority?.bundle;
  }

  async #hex(wish: Wanted<'hex'>, signal: AbortSignal): Promise<void> {
    const found = await this.#secret(wish.secret, signal);
    const step = planHex(wish, found === undefined ? undefined : { isOurs: isOurs(found), keys: Object.keys(found.data ?? {}) });
    if (step.do === 'nothing') return;
    const value = { [wish.key]: randomBytes(wish.bytes).toString('hex') };
    await this.#write(found, { name: wish.secret, type: 'Opaque', is: wish.is, values: value }, signal);
  }

  async #authority(wish: Wanted<'ca'>, signal: AbortSignal): Promise<Authority> {
    const found = await this.#secret(wish.secret, signal);
    const values = valuesOf(found);
    const now = this.#now();
    const step = planAuthority(
      found && {
        isOurs: isOurs(found),
        current: certificateFacts(values['tls.crt']),
        next: certificateFacts(values['next.crt']),
        previous: certificateFacts(values['previous.crt']),
      },
      now,
    );
    if (step.do === 'foreign')
      this.#tellOnce(wish.secret, 'this Secret was not made by the operator: it signs with it, and never renews it');
    const changed = await changedAuthority(step.do, values, `toolyard ${this.#options.namespace}`, now);
    if (changed !== undefined) {
      const stale = Object.fromEntries(Object.keys(values).map((key) => [key, undefined]));
      await this.#write(found, { name: wish.secret, type: 'kubernetes.io/tls', is: wish.is, values: { ...stale, ...changed } }, signal);
    }
    const present = changed ?? values;
    const certificates = [present['tls.crt'], present['next.crt'], present['previous.crt']];
    const bundle = certificates.filter((pem): pem is string => certificateFacts(pem) !== undefined).join('');
    await this.#publishBundle(wish.configMap, bundle, signal);
    return { pair: { cert: present['tls.crt'] ?? '', key: present['tls.key'] ?? '' }, previous: present['previous.crt'], bundle };
  }

  async #certificate(wish: Wanted<'certificate'>, { pair, previous = '' }: Authority, signal: AbortSignal): Promise<void> {
    const found = await this.#secret(wish.secret, signal);
    const { 'tls.crt': cert = '' } = valuesOf(found);
    const isSigned = isSignedBy(cert, pair.cert) || isSignedBy(cert, previous);
    const now = this.#now();
    const step = planCertificate(wish, found && { isOurs: isOurs(found), facts: certificateFacts(cert), isSigned }, now);
    if (step.do === 'nothing') return;
    if (step.do === 'foreign') return this.#tellOnce(wish.secret, 'this Secret was not made by the operator: it is not renewed');
    const { newCertificate } = await import('./issue.ts');
    const made = await newCertificate(wish.hosts, pair, now);
    const values = { 'tls.crt': made.cert, 'tls.key': made.key };
    await this.#write(found, { name: wish.secret, type: 'kubernetes.io/tls', is: wish.is, values }, signal);
  }

  #secret(name: string, signal: AbortSignal): Promise<Secret | undefined> {
    return this.#options.client.find<Secret>(objectPath(paths.secrets(this.#options.namespace), name), { signal });
  }

  async #write(found: Secret | undefined, made: Made, signal: AbortSignal): Promise<void> {
    const data = { ...found?.data, ...encoded(made.values) };
    const kind = { apiVersion: 'v1', kind: 'Secret', type: found?.type ?? made.type };
    await this.#put(
      found,
      { ...kind, metadata: this.#meta(made), data: withoutUndefined(data) },
      paths.secrets(this.#options.namespace),
      signal,
    );
  }

  async #publishBundle(name: string, bundle: string, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const collection = paths.configMaps(namespace);
    const found = await client.find<ConfigMap>(objectPath(collection, name), { signal });
    if (found?.data?.['ca.crt'] === bundle || bundle === '') return;
    const data = { ...found?.data, 'ca.crt': bundle };
    await this.#put(found, { apiVersion: 'v1', kind: 'ConfigMap', metadata: this.#meta({ name, is: 'ca' }), data }, collection, signal);
  }

  #meta({ name, is }: Pick<Made, 'name' | 'is'>): KubeObject['metadata'] {
    return { name, namespace: this.#options.namespace, annotations: { [GENERATED_ANNOTATION]: is } };
  }

  /** Creates it, or replaces exactly what was found. */
  async #put<T extends KubeObject>(found: T | undefined, object: T, collection: string, signal: AbortSignal): Promise<void> {
    const { client, log, mayWrite } = this.#options;
    if (!mayWrite()) throw new Error('nothing is written: this process may no longer be the one that works');
    const { name } = object.metadata;
    try {
      if (found === undefined) await client.create(collection, object, { signal });
      else await client.replace(objectPath(collection, name), { ...object, metadata: found.metadata }, { signal });
    } catch (error) {
      // somebody was quicker: what is there now is looked at next time
      if (!isKubeError(error, 'conflict', 'exists')) throw error;
      return log.info({ kind: object.kind, name, reason: error.message }, 'somebody else wrote it meanwhile');
    }
    log.info({ kind: object.kind, name }, found === undefined ? 'made, since it was missing' : 'renewed');
  }

  #tellOnce(name: string, message: string): void {
    if (this.#told.get(name) === message) return;
    this.#told.set(name, message);
    this.#options.log.info({ kind: 'Secret', name }, message);
  }
}

interface Authority {
  readonly pair: KeyPair;
  /** PEM */
  readonly previous: string | undefined;
  /** everything that clients should trust, PEM */
  readonly bundle: string;
}

interface Made {
  readonly name: string;
  readonly type: string;
  readonly is: Generated['is'];
  /** undefined: this key goes */
  readonly values: Readonly<Record<string, string | undefined>>;
}

type Values = Readonly<Record<string, string>>;

/** @returns all values of the authority's Secret, or undefined when they stay as they are */
async function changedAuthority(
  step: ReturnType<typeof planAuthority>['do'],
  values: Values,
  name: string,
  now: number,
): Promise<Values | undefined> {
  const { 'next.crt': nextCert = '', 'next.key': nextKey = '', 'tls.crt': oldCert = '', ...others } = values;
  switch (step) {
    case 'create':
    case 'replace': {
      const { cert, key } = await makeAuthority(name, now);
      return { 'tls.crt': cert, 'tls.key': key };
    }
    case 'prepare': {
      const { cert, key } = await makeAuthority(name, now);
      return { ...others, 'tls.crt': oldCert, 'next.crt': cert, 'next.key': key };
    }
    case 'switch':
      return { 'tls.crt': nextCert, 'tls.key': nextKey, 'previous.crt': oldCert };
    case 'forget': {
      const { 'previous.crt': _ended, ...left } = values;
      return left;
    }
    default:
      return undefined;
  }
}

async function makeAuthority(name: string, now: number): Promise<KeyPair> {
  const { newAuthority } = await import('./issue.ts');
  return newAuthority(name, now);
}

function isOurs({ metadata }: Secret): boolean {
  return metadata.annotations?.[GENERATED_ANNOTATION] !== undefined;
}

function valuesOf(secret: Secret | undefined): Values {
  return Object.fromEntries(Object.entries(secret?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

function encoded(values: Made['values']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, value === undefined ? undefined : Buffer.from(value).toString('base64')]),
  );
}

function withoutUndefined(values: Readonly<Record<string, string | undefined>>): Values {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
