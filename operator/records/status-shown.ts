import type { DeclaredConfigMap, OwnField } from './configmap.ts';
import { STATE_LABEL, STATUS_ANNOTATION } from './configmap.ts';
import { eventsBetween, earlierStatus, type Condition, type DeclarationStatus, type StatusEvent } from './status.ts';

/**
 * What the annotation says: a status without what changes from try to try (`nextProbeAt`), so that nothing is written while nothing happens,
 * and without `source`, which is the ConfigMap itself.
 */
export function annotationOf({ source: _, nextProbeAt: _next, ...shown }: DeclarationStatus): string {
  return JSON.stringify(shown);
}

/** What an annotation says; undefined when there is none, or somebody wrote something else into it. */
export function statusIn(source: string, { value }: OwnField): DeclarationStatus | undefined {
  if (value === undefined) return undefined;
  try {
    const status = { ...(JSON.parse(value) as object), source } as DeclarationStatus;
    return earlierStatus.safeParse(status).success ? status : undefined;
  } catch {
    return undefined;
  }
}

/** The fields to write into one ConfigMap, or none. */
export interface Showing {
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** something of it is not there yet */
  readonly due: boolean;
  /** `field (manager)` of fields that others own */
  readonly foreign: readonly string[];
}

/** What a ConfigMap should show of its status, and whether it does. A field that another manager owns is left as it is. Pure. */
export function planShowing(status: DeclarationStatus, there: DeclaredConfigMap): Showing {
  const fields = [
    { kind: 'annotations', key: STATUS_ANNOTATION, value: annotationOf(status), field: there.status },
    { kind: 'labels', key: STATE_LABEL, value: status.state, field: there.state },
  ] as const;
  const own = fields.filter(({ field }) => field.foreign === undefined);
  const of = (wanted: 'annotations' | 'labels') =>
    Object.fromEntries(own.filter(({ kind }) => kind === wanted).map(({ key, value }) => [key, value]));
  return {
    annotations: of('annotations'),
    labels: of('labels'),
    due: own.some(({ field, value }) => field.value !== value),
    foreign: fields.flatMap(({ key, field }) => (field.foreign === undefined ? [] : [`${key} (${field.foreign})`])),
  };
}

/** Answers that come by themselves in a moment, or follow from another one, are no news. */
const passing: ReadonlySet<string> = new Set([
  'RegistryUnread',
  'NotAsked',
  'Asking',
  'Publishing',
  'Pending',
  'NotAccepted',
  'Unverified',
]);
const importance = ['Accepted', 'Published', 'Reachable', 'Advertised'] as const;

/**
 * The one Event that tells what changed between two statuses of a declaration, if anything did: what is wrong before what is well, and what
 * was decided before what it follows from. That a declaration is valid, or that its server answers, is news only after it was not so.
 */
export function eventBetween(before: DeclarationStatus | undefined, after: DeclarationStatus): StatusEvent | undefined {
  const was = (type: Condition['type']) => before?.conditions.find((condition) => condition.type === type)?.status;
  const isNews = ({ reason, about }: StatusEvent): boolean =>
    !passing.has(reason) && ((reason !== 'Valid' && reason !== 'Answers') || was(about) === 'False');
  const rank = ({ type, about }: StatusEvent): number => (type === 'Warning' ? 0 : importance.length) + importance.indexOf(about);
  return eventsBetween(before, after)
    .filter(isNews)
    .toSorted((a, b) => rank(a) - rank(b))[0];
}

/** Tells that a server lists other tools than before. */
export function toolsChanged(
  before: DeclarationStatus | undefined,
  after: DeclarationStatus,
): Pick<StatusEvent, 'type' | 'reason' | 'message'> | undefined {
  if (before?.tools === undefined || after.tools === undefined || before.tools.digest === after.tools.digest) return undefined;
  const message = `its server lists other tools than before: ${before.tools.count} then, ${after.tools.count} now`;
  return { type: 'Normal', reason: 'ToolsChanged', message };
}
