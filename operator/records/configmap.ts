import type { ConfigMap } from '../../lib/kube/objects.ts';
import { keyOf } from '../../lib/kube/objects.ts';
import { ANNOTATION_PREFIX, type Found, type RawDeclaration } from './declaration.ts';
import { parse, unusable } from './document.ts';

/** ConfigMaps with this label are declarations. */
export const DECLARATION_LABEL = 'toolyard.dev/kind=server.json';
const DOCUMENT_KEY = 'server.json';

/** What the operator writes; no settings. */
export const STATUS_ANNOTATION = `${ANNOTATION_PREFIX}status`;
export const STATE_LABEL = `${ANNOTATION_PREFIX}state`;

/** One of the operator's own fields as a ConfigMap has it. */
export interface OwnField {
  readonly value?: string;
  /** another manager that owns it, besides or instead of the operator: then it is left alone */
  readonly foreign?: string;
}

/** What is kept of a ConfigMap: what it declares, and what it shows. */
export interface DeclaredConfigMap {
  readonly raw: RawDeclaration;
  readonly uid: string;
  readonly status: OwnField;
  readonly state: OwnField;
}

/** Name under which the operator owns fields. */
export const FIELD_MANAGER = 'toolyard-operator';

/** Understands one ConfigMap. Pure and total. */
export function declaredBy(configMap: ConfigMap): DeclaredConfigMap {
  const { uid = '', namespace = '', creationTimestamp = '', annotations = {}, labels = {} } = configMap.metadata;
  return {
    raw: {
      source: keyOf(configMap),
      namespace,
      createdAt: Date.parse(creationTimestamp) || 0,
      document: documentOf(configMap),
      settings: { value: settingsOf(annotations) },
    },
    uid,
    status: ownField(configMap, annotations[STATUS_ANNOTATION], ['f:annotations', `f:${STATUS_ANNOTATION}`]),
    state: ownField(configMap, labels[STATE_LABEL], ['f:labels', `f:${STATE_LABEL}`]),
  };
}

function documentOf({ data = {}, binaryData = {} }: ConfigMap): Found {
  const others = [...Object.keys(data), ...Object.keys(binaryData)].filter((key) => key !== DOCUMENT_KEY).toSorted();
  const named = others.slice(0, MOST_NAMED).join(', ') + (others.length > MOST_NAMED ? ', …' : '');
  if (Object.hasOwn(binaryData, DOCUMENT_KEY)) {
    return unusable('InvalidJson', `${DOCUMENT_KEY} is under binaryData, as it is when it is not text in UTF-8: put it under data`);
  }
  const text = Object.hasOwn(data, DOCUMENT_KEY) ? data[DOCUMENT_KEY] : undefined;
  if (text === undefined) {
    const found = others.length === 0 ? 'the ConfigMap has no data' : `the ConfigMap has ${named}`;
    return unusable('Unreadable', `there is no data["${DOCUMENT_KEY}"]: ${found}; the document belongs under that key`);
  }
  if (others.length > 0) {
    return unusable(
      'Unreadable',
      `beside ${DOCUMENT_KEY} the ConfigMap has ${named}: one ConfigMap declares one server, under that key alone`,
    );
  }
  return parse(Buffer.from(text));
}

const MOST_NAMED = 5;

function settingsOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const ours = Object.entries(annotations).filter(([key]) => key.startsWith(ANNOTATION_PREFIX) && key !== STATUS_ANNOTATION);
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(ANNOTATION_PREFIX.length), value]));
}

function ownField({ metadata }: ConfigMap, value: string | undefined, path: readonly [string, string]): OwnField {
  const owners = (metadata.managedFields ?? []).filter(({ fieldsV1 }) => owns(fieldsV1, ['f:metadata', ...path]));
  const foreign = owners.find(({ manager, operation }) => manager !== FIELD_MANAGER || operation !== 'Apply')?.manager;
  return { ...(value !== undefined && { value }), ...(foreign !== undefined && { foreign }) };
}

/** Whoever sets a map to empty owns all of it. */
function owns(fields: unknown, path: readonly string[]): boolean {
  let at = fields;
  for (const [depth, key] of path.entries()) {
    if (typeof at !== 'object' || at === null) return false;
    if (depth > 1 && Object.keys(at).length === 0) return true;
    if (!Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}
