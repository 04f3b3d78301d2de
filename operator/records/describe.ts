import type { Failure, Reach, ToolInventory, Verdict } from './answers.ts';
import type { Declaration } from './declaration.ts';
import { defined } from './defined.ts';
import type { Step } from './plan.ts';
import type { OnDelete } from './record.ts';
import type { Condition, Description, State } from './status.ts';

/** Why an action of the plan was not done, in the words of whoever refused it. */
export interface Setback {
  readonly reason: 'RegistryDown' | 'RegistryRefused' | 'RegistryFailed' | 'NotKept' | 'NotWritten';
  readonly message: string;
  /** it may end without anything changing here: the registry works again, a clock or a seed is put right */
  readonly passing?: true;
}

/** All that is known about one source. */
export interface Subject {
  readonly source: string;
  /** undefined: its declaration is gone */
  readonly declaration: Declaration | undefined;
  /** what its name, and names it declared before, need */
  readonly steps: readonly Step[];
  /** planned without knowing what the registry has */
  readonly tentative: boolean;
  readonly setback: Setback | undefined;
  /** Unix ms */
  readonly nextProbeAt: number | undefined;
  /** the endpoint is what the record advertises */
  readonly publishEndpoint: boolean;
}

type Draft = Omit<Condition, 'lastTransitionTime'>;

/** A subject whose declared version is told from what is left of earlier ones. */
interface Picture extends Subject {
  readonly declared: Step | undefined;
  readonly former: readonly Step[];
  /** what stands for the source: the declared version, else what is left */
  readonly shown: Step | undefined;
}

/** Puts into words what is known about one source. Pure; undefined when there is nothing to say about it any more. */
export function describe(subject: Subject): Description | undefined {
  const declared = subject.steps.find(({ claim }) => claim !== undefined);
  const former = subject.steps.filter(({ claim, action }) => claim === undefined && action.do !== 'nothing');
  const shown = declared ?? former[0];
  if (subject.declaration === undefined && shown === undefined) return undefined;
  const picture: Picture = { ...subject, declared, former, shown };
  const drafts = { accepted: accepted(picture), published: published(picture) };
  return {
    source: subject.source,
    ...nameOf(picture),
    state: stateOf(drafts, picture),
    provisional: isProvisional(picture),
    conditions: [drafts.accepted, reachable(shown?.reach), ...advertised(picture), drafts.published],
    ...details(picture),
  };
}

function details({ declaration, former, shown, nextProbeAt }: Picture) {
  const wish = declaration?.wish;
  return defined({
    faults: wish?.is === 'unusable' ? wish.faults : undefined,
    tools: toolsOf(shown?.reach),
    digest: digestOf(declaration),
    endpoint: addressOf(shown),
    nextProbeAt: timeOf(nextProbeAt),
    withdrawAt: timeOf(former.find(({ until }) => until !== undefined)?.until),
    onDelete: onDeleteOf(declaration, former),
  });
}

function isProvisional({ declaration, tentative, shown }: Picture): boolean {
  return declaration?.wish.is === 'record' && (tentative || shown === undefined || shown.reach?.is === 'unasked');
}

function nameOf({ declaration, shown }: Picture): { name: string; version: string } {
  const { name = shown?.name, version = shown?.version } = declaration?.wish ?? {};
  return { name: name ?? '', version: version ?? '' };
}

function onDeleteOf(declaration: Declaration | undefined, former: readonly Step[]): Exclude<OnDelete, 'delete'> | undefined {
  const onDelete = declaration?.wish.settings?.onDelete ?? former[0]?.record?.stamp?.onDelete;
  return onDelete === 'delete' ? undefined : onDelete;
}

function digestOf(declaration: Declaration | undefined): string | undefined {
  return declaration?.wish.is === 'record' ? declaration.wish.digest : undefined;
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

function addressOf(step: Step | undefined): string | undefined {
  return step?.target?.is === 'address' ? step.target.url : undefined;
}

function accepted({ declaration, declared, tentative }: Picture): Draft {
  const type = 'Accepted';
  if (declaration === undefined) return { type, status: 'Unknown', reason: 'Gone', message: 'the declaration is gone' };
  const { wish } = declaration;
  if (wish.is === 'unusable') return { type, status: 'False', reason: wish.reason, message: wish.message };
  if (declared === undefined || tentative) {
    return {
      type,
      status: 'Unknown',
      reason: 'RegistryUnread',
      message: 'server.json is valid; who has its name shows once the registry was read',
    };
  }
  const { action } = declared;
  if (action.do === 'refuse') return { type, status: 'False', reason: action.reason, message: action.message };
  if (action.do === 'wait' && action.for === 'reading') {
    return { type, status: 'Unknown', reason: 'RecordUnreadable', message: 'server.json is valid; who has its name cannot be told' };
  }
  return { type, status: 'True', reason: 'Valid', message: 'server.json is valid, and its name is free for it' };
}

function reachable(reach: Reach | undefined): Draft {
  const unknown = (reason: string, message: string): Draft => ({ type: 'Reachable', status: 'Unknown', reason, message });
  if (reach === undefined) return unknown('NotAsked', 'its server is asked once the declaration is accepted');
  if (reach.is === 'unasked') return unknown('Asking', 'the first handshake with its server is under way');
  if (reach.is === 'none') return unknown(reach.reason, `${reach.message}: published without asking`);
  const good = goodOf(reach);
  return good === undefined ? unreachable(failureOf(reach)) : answering(good);
}

function answering(verdict: Exclude<Verdict, Failure>): Draft {
  if (verdict.is === 'answers') {
    const message = `its server speaks MCP ${verdict.protocol} and lists ${plural(verdict.tools.count, 'tool')}`;
    return { type: 'Reachable', status: 'True', reason: 'Answers', message };
  }
  const message = `its server is there but asks for credentials (HTTP ${verdict.status}): ${authAdvice[verdict.credentials ?? 'none']}`;
  return { type: 'Reachable', status: 'Unknown', reason: 'AuthRequired', message };
}

const authAdvice = {
  none: 'to have it checked behind them, set probe-auth',
  missing: 'those that probe-auth names are not there, or lack authorization or origin',
  forbidden:
    'the operator may not read the Secret that probe-auth names: a Role in this namespace has to let its ServiceAccount get Secrets of that one name',
  withheld: 'the Secret that probe-auth names lacks the label toolyard.dev/probe-auth=true, by which it agrees to be sent',
  elsewhere: 'those that probe-auth names are for another origin',
  refused: 'those that probe-auth names are not accepted',
} as const;

function unreachable(failure: Failure | undefined): Draft {
  const { reason = 'Unknown', message = 'it does not answer' } = failure ?? {};
  return { type: 'Reachable', status: 'False', reason, message: `${message}; it is asked again by itself` };
}

function advertised({ publishEndpoint, declaration, shown }: Picture): Draft[] {
  const wish = declaration?.wish;
  const elsewhere = wish?.is === 'record' && wish.settings.endpoint !== undefined && addressOf(shown) !== undefined;
  if (publishEndpoint || !elsewhere) return [];
  const message = 'the endpoint is probed, not the address in the record, which may not be reachable from here';
  return [{ type: 'Advertised', status: 'Unknown', reason: 'Unverified', message }];
}

function published(picture: Picture): Draft {
  const { declared, former } = picture;
  if (declared === undefined) return unpublished('NotAccepted', lastGood(former));
  const { action, record } = declared;
  switch (action.do) {
    case 'nothing':
      return record?.status === 'deprecated' ? deprecated(record.statusMessage) : asDeclared;
    case 'wait':
      return waiting(declared, former);
    case 'refuse':
      return unpublished(action.reason, former.length > 0 ? lastGood(former) : action.message);
    default:
      return writing(picture);
  }
}

function writing({ former, setback }: Picture): Draft {
  if (setback === undefined) return unpublished('Publishing', 'it is being written to the registry');
  return unpublished(setback.reason, `${setback.message}${remains(former)}`);
}

const asDeclared: Draft = { type: 'Published', status: 'True', reason: 'Published', message: 'the registry shows it as declared' };

function unpublished(reason: string, message: string): Draft {
  return { type: 'Published', status: 'False', reason, message };
}

function deprecated(why: string | undefined): Draft {
  const because = why === undefined ? '' : ` (${why})`;
  const message = `the registry shows it as deprecated${because}; the first answer of its server makes it active again`;
  return { type: 'Published', status: 'True', reason: 'Deprecated', message };
}

function waiting({ action, record, reach }: Step, former: readonly Step[]): Draft {
  if (action.do === 'wait' && action.for === 'reading') {
    const message = `the registry has a record of this name that cannot be read (${action.what}): until it can, nothing of this name is published, edited or withdrawn`;
    return unpublished('RecordUnreadable', message);
  }
  // a record whose remote moved to an address that never answered, while the old one is still shown
  if (record !== undefined && record.status !== 'deleted') {
    if (failureOf(reach) !== undefined && record.status === 'deprecated') return deprecated(record.statusMessage);
    return unpublished('Pending', `the registry keeps the last good record until the new address answers${soFar(reach)}`);
  }
  return unpublished('Pending', `it is published as soon as its server answers${soFar(reach)}${remains(former)}`);
}

function soFar(reach: Reach | undefined): string {
  const failure = failureOf(reach);
  return failure === undefined ? '' : `; so far ${failure.message}`;
}

function remains(former: readonly Step[]): string {
  const versions = former.filter(({ record }) => record !== undefined).map(({ version }) => version);
  return versions.length === 0 ? '' : `; until then the registry keeps ${versions.join(', ')}`;
}

function lastGood(former: readonly Step[]): string {
  const kept = former
    .map(({ name, version, record }) => `${name} ${version}${record?.status === 'deprecated' ? ' (deprecated)' : ''}`)
    .join(', ');
  const end = former.find(({ until }) => until !== undefined)?.until;
  if (end !== undefined)
    return `${kept} ${fates[onDeleteOf(undefined, former) ?? 'delete']} ${new Date(end).toISOString()} unless it is declared again`;
  return kept === '' ? 'nothing is published' : `the registry keeps the last good record: ${kept}`;
}

const fates = {
  delete: 'is withdrawn at',
  deprecate: 'is deprecated at',
  keep: 'stays in the registry, and nobody looks after it from',
} as const;

function stateOf({ accepted, published }: { accepted: Draft; published: Draft }, { declaration, former }: Picture): State {
  if (declaration === undefined)
    return former.some(({ action }) => action.do === 'wait' && action.for === 'repair') ? 'Published' : 'Withdrawing';
  if (accepted.status === 'False' || published.reason === 'RegistryRefused') return 'Refused';
  if (published.status !== 'True') return 'Pending';
  return published.reason === 'Deprecated' ? 'Deprecated' : 'Published';
}

function failureOf(reach: Reach | undefined): Failure | undefined {
  return reach?.is === 'silent' || reach?.is === 'doubtful' ? reach.failure : undefined;
}

function goodOf(reach: Reach | undefined): Exclude<Verdict, Failure> | undefined {
  if (reach?.is === 'answers') return reach.verdict;
  return reach?.is === 'doubtful' ? reach.good : undefined;
}

function toolsOf(reach: Reach | undefined): ToolInventory | undefined {
  const good = goodOf(reach);
  return good?.is === 'answers' ? good.tools : undefined;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
