import { createHash } from 'node:crypto';
import { z } from 'zod';
import { foldDocument, joinPath, MAX_NESTING, nestsDeeperThan, normalForm } from '../../lib/registry-api/normal-form.ts';
import { PUBLISHER_META, type ServerJson } from '../../lib/registry-api/server-json.ts';
import type { Fault } from '../../lib/registry-api/fault.ts';
import { goJsonBytes, MAX_PUBLISHER_META_BYTES, validateServerJson } from '../../lib/registry-api/validate.ts';
import { onDeletes, publisherMeta, STAMP_KEY, stamped, type OnDelete } from './record.ts';

/** How one declaration is to be treated. In a directory toolyard.json, in a cluster the annotations `toolyard.dev/<key>`. */
export interface Settings {
  /** another address to probe than the advertised remote */
  readonly endpoint?: string;
  /** publish without asking */
  readonly probe?: 'off';
  /** name of the credentials to probe with */
  readonly probeAuth?: string;
  readonly onDelete: OnDelete;
  /** `true`: take over an unmarked record; an install's name: that install's */
  readonly adopt?: string;
}

/** One thing wrong with a declaration: where, and what to do. */
export interface DeclarationFault {
  /** JSON path in server.json, or `toolyard.json: <path>`, or `annotation toolyard.dev/<key>`; '' is the whole document */
  readonly path: string;
  readonly message: string;
}

/** Why a declaration cannot be used as it stands. */
export type Unusable = 'Unreadable' | 'TooLarge' | 'InvalidJson' | 'InvalidRecord' | 'InvalidSettings';

/** What one declaration says, once understood. */
export type Wish =
  | {
      readonly is: 'record';
      readonly name: string;
      readonly version: string;
      /** as it is to be published: in the registry's normal form, marked, and with the endpoint for its remote where that is asked for */
      readonly document: ServerJson;
      /** `sha256:` and 64 hex digits of that */
      readonly digest: string;
      readonly settings: Settings;
    }
  | {
      readonly is: 'unusable';
      readonly reason: Unusable;
      readonly message: string;
      readonly faults: readonly DeclarationFault[];
      /** as far as the document tells them */
      readonly name?: string;
      readonly version?: string;
      /** as far as they could be read */
      readonly settings?: Settings;
    };

/** One server.json in a directory or in a ConfigMap. */
export interface Declaration {
  /** `catalog/fetch/server.json`, or `namespace/name`: stays the same for as long as the file or the ConfigMap does */
  readonly source: string;
  readonly namespace: string;
  /** Unix time, ms */
  readonly createdAt: number;
  readonly wish: Wish;
}

/** What a source found in one place: a parsed JSON value, or why there is none. */
export type Found = { readonly value: unknown } | { readonly unusable: Unusable; readonly message: string };

/** A declaration before anybody looked at what it says. */
export interface RawDeclaration extends Omit<Declaration, 'wish'> {
  readonly document: Found;
  /** keys as in `settingsSchema`; `{ value: {} }` when there are none */
  readonly settings: Found;
}

export interface ReadingRules {
  readonly install: string;
  /** the endpoint takes the advertised remote's place in the published record, and remotes on this machine are accepted */
  readonly publishEndpoint: boolean;
  /** name of a record to endpoint; stronger than the declaration's own */
  readonly endpoints: Readonly<Record<string, string>>;
  /** where settings are written; @default a file toolyard.json beside server.json */
  readonly settingsIn?: 'toolyard.json' | 'annotations';
}

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' })
  .refine((url) => URL.canParse(url) && new URL(url).username === '', 'must not carry a user name: use probe-auth');

/** The keys of toolyard.json, and of the annotations. */
export const settingsSchema = z
  .strictObject({
    endpoint: httpUrl.optional(),
    probe: z.literal('off', { error: 'accepts only "off"' }).optional(),
    'probe-auth': z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of credentials: lower case letters, digits, dots and dashes')
      .optional(),
    'on-delete': z.enum(onDeletes, { error: `accepts ${onDeletes.join(', ')}` }).default('delete'),
    adopt: z
      .union([z.literal(true).transform(() => 'true'), z.string().min(1)], { error: 'accepts true, or the name of another install' })
      .optional(),
  })
  .transform(({ endpoint, probe, 'probe-auth': probeAuth, 'on-delete': onDelete, adopt }): Settings => ({
    onDelete,
    ...(endpoint !== undefined && { endpoint }),
    ...(probe !== undefined && { probe }),
    ...(probeAuth !== undefined && { probeAuth }),
    ...(adopt !== undefined && { adopt }),
  }));

/** Before the key of each setting that is an annotation. */
export const ANNOTATION_PREFIX = 'toolyard.dev/';

const settingKeys = ['endpoint', 'probe', 'probe-auth', 'on-delete', 'adopt'] as const;

/** Understands one declaration: every fault of document and settings at once. Pure and total: any parsed JSON gets an answer. */
export function readDeclaration(raw: RawDeclaration, rules: ReadingRules): Declaration {
  const { source, namespace, createdAt } = raw;
  return { source, namespace, createdAt, wish: wishOf(raw, rules) };
}

function wishOf(raw: RawDeclaration, rules: ReadingRules): Wish {
  const { settings, faults: settingsFaults } = readSettings(raw.settings, rules);
  const known = settings === undefined ? {} : { settings };
  if (!('value' in raw.document)) {
    const { unusable: reason, message } = raw.document;
    return { is: 'unusable', reason, message, faults: [{ path: '', message }, ...settingsFaults], ...known };
  }
  const named = { ...textAt(raw.document.value, 'name'), ...textAt(raw.document.value, 'version') };
  const faults = faultsOf(raw.document.value, rules);
  if (faults.length > 0) return { ...invalidRecord([...faults, ...settingsFaults]), ...named, ...known };
  if (settings === undefined) return { ...invalidSettings(settingsFaults), ...named };
  return record(normalForm(raw.document.value), settings, { ...rules, source: raw.source });
}

/** A valid document and valid settings, which may still not fit together. */
function record(document: ServerJson, own: Settings, rules: ReadingRules & { source: string }): Wish {
  const { name, version } = document;
  const endpoint = Object.hasOwn(rules.endpoints, name) ? rules.endpoints[name] : own.endpoint;
  const settings = endpoint === undefined ? own : { ...own, endpoint };
  if (own.endpoint !== undefined && preferredRemote(document) === undefined) {
    const message = 'there is no remote in server.json that this address could stand in for';
    return { ...invalidSettings([{ path: settingPath('endpoint', rules), message }]), name, version };
  }
  const published = publishable(document, settings, rules);
  const tooMuch = sizeFaults(published);
  if (tooMuch.length > 0) return { ...invalidRecord(tooMuch), name, version, settings };
  return { is: 'record', name, version, document: published, digest: digestOf(published), settings };
}

type Unusables = Extract<Wish, { is: 'unusable' }>;

function invalidRecord(faults: readonly DeclarationFault[]): Unusables {
  return { is: 'unusable', reason: 'InvalidRecord', message: summary('server.json', faults), faults };
}

function digestOf(document: ServerJson): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(document)).digest('hex')}`;
}

function invalidSettings(faults: readonly DeclarationFault[]): Unusables {
  return { is: 'unusable', reason: 'InvalidSettings', message: summary('the settings', faults), faults };
}

function readSettings(found: Found, rules: ReadingRules): { settings?: Settings; faults: readonly DeclarationFault[] } {
  if (!('value' in found)) return { faults: [{ path: settingPath('', rules), message: found.message }] };
  const parsed = settingsSchema.safeParse(found.value);
  if (parsed.success) return { settings: parsed.data, faults: [] };
  return { faults: parsed.error.issues.flatMap((issue) => settingsFaults(issue, rules)) };
}

function settingsFaults(issue: z.core.$ZodIssue, rules: ReadingRules): DeclarationFault[] {
  if (issue.code === 'unrecognized_keys') {
    const known = settingKeys.join(', ');
    return issue.keys.map((key) => ({ path: settingPath(key, rules), message: `unknown setting; known are ${known}` }));
  }
  return [{ path: settingPath(issue.path.reduce<string>(joinPath, ''), rules), message: issue.message }];
}

/** Where a setting is written, for whoever has to correct it. */
function settingPath(key: string, { settingsIn = 'toolyard.json' }: ReadingRules): string {
  if (settingsIn === 'annotations') return key === '' ? 'annotations' : `annotation ${ANNOTATION_PREFIX}${key}`;
  return key === '' ? settingsIn : `${settingsIn}: ${key}`;
}

/** What the registry would refuse, and a mark that is not the author's to set. */
function faultsOf(document: unknown, rules: ReadingRules): DeclarationFault[] {
  const { publishEndpoint } = rules;
  const strict = validateServerJson(document);
  const faults = publishEndpoint ? strict.filter(({ path }) => !isOnThisMachine(remoteUrlAt(document, path))) : strict;
  const shown = faults.map((fault) => ({ path: fault.path, message: withAdvice(fault, rules) }));
  const marked = !nestsDeeperThan(document, MAX_NESTING) && hasOwnMark(foldDocument(document));
  return marked ? [...shown, { path: markPath, message: 'this key is set by toolyard alone: remove it' }] : shown;
}

const markPath = `_meta.${PUBLISHER_META}.${STAMP_KEY}`;

function withAdvice({ path, message, reference }: Fault, { publishEndpoint, settingsIn = 'toolyard.json' }: ReadingRules): string {
  if (!isRemoteUrlPath(path) || reference === undefined) return message;
  const taken = publishEndpoint ? 'https, and http on this machine, are taken' : 'a registry takes public https addresses only';
  const place = settingsIn === 'annotations' ? `the annotation ${ANNOTATION_PREFIX}endpoint` : 'toolyard.json as "endpoint"';
  return `${message} (${taken}; an address that is good here alone goes into ${place})`;
}

function isRemoteUrlPath(path: string): boolean {
  return /^remotes\[\d+\]\.url$/.test(path);
}

function remoteUrlAt(document: unknown, path: string): unknown {
  if (!isRemoteUrlPath(path)) return undefined;
  const remotes = fieldOf(foldDocument(document), 'remotes');
  return Array.isArray(remotes) ? fieldOf(remotes[Number.parseInt(path.slice('remotes['.length), 10)], 'url') : undefined;
}

function isOnThisMachine(url: unknown): boolean {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) return false;
  return (
    parsed.hostname === 'localhost' || parsed.hostname.endsWith('.localhost') || /^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)
  );
}

function hasOwnMark(document: unknown): boolean {
  const provided = fieldOf(fieldOf(document, '_meta'), PUBLISHER_META);
  return typeof provided === 'object' && provided !== null && Object.hasOwn(provided, STAMP_KEY);
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function textAt<K extends 'name' | 'version'>(value: unknown, key: K): { [P in K]?: string } {
  const text = fieldOf(value, key);
  return (typeof text === 'string' && text !== '' ? { [key]: text } : {}) as { [P in K]?: string };
}

function publishable(document: ServerJson, settings: Settings, rules: ReadingRules & { source: string }): ServerJson {
  const { endpoint, onDelete } = settings;
  const advertised = rules.publishEndpoint && endpoint !== undefined ? advertising(document, endpoint) : document;
  return normalForm(stamped(advertised, { install: rules.install, source: rules.source, onDelete }));
}

/** The other remotes go: they are addresses of the world that the endpoint is not in. */
function advertising(document: ServerJson, endpoint: string): ServerJson {
  const remote = preferredRemote(document);
  if (remote === undefined) return document;
  const { variables: _filled, ...fixed } = remote;
  return { ...document, remotes: [{ ...fixed, url: endpoint }] };
}

/** The remote that stands for the record: what is probed, and what an endpoint stands in for. */
export function preferredRemote({ remotes = [] }: ServerJson): NonNullable<ServerJson['remotes']>[number] | undefined {
  const fixed = remotes.filter(({ url = '' }) => !url.includes('{'));
  return fixed.find(({ type }) => type === 'streamable-http') ?? fixed[0] ?? remotes[0];
}

/** The registry counts toolyard's mark too. */
function sizeFaults(published: ServerJson): DeclarationFault[] {
  const bytes = goJsonBytes(publisherMeta(published));
  if (bytes <= MAX_PUBLISHER_META_BYTES) return [];
  const over = bytes - MAX_PUBLISHER_META_BYTES;
  const message = `with toolyard's own mark this is ${bytes} bytes; the registry takes ${MAX_PUBLISHER_META_BYTES}: make it ${over} bytes shorter`;
  return [{ path: `_meta.${PUBLISHER_META}`, message }];
}

function summary(file: string, faults: readonly DeclarationFault[]): string {
  const [first] = faults;
  if (first === undefined) return `${file} cannot be used`;
  const where = first.path === '' ? first.message : `${first.path}: ${first.message}`;
  return faults.length === 1 ? where : `${where} (and ${faults.length - 1} more)`;
}
