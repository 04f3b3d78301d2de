import { faultLine } from '../lib/registry-api/fault.ts';
import type { DeclarationStatus } from '../operator/records/status.ts';
import { readClusterStatus, type ClusterChoice } from './cluster.ts';
import { CliError, exit, type ExitCode } from './exit.ts';
import { stateDir } from './stack/state-dir.ts';
import { conditionOf, nameOf, readStatus } from './status.ts';
import { safe, type Terminal } from './terminal.ts';

export interface ExplainRequest {
  readonly name: string;
  readonly state: string;
  /** ask a cluster instead of the state directory */
  readonly cluster: ClusterChoice | undefined;
}

/** Says why a server is, or is not, published; the exit code tells whether it is. */
export async function explain(request: ExplainRequest, terminal: Terminal): Promise<ExitCode> {
  if (request.cluster !== undefined) {
    const { url, declarations } = await readClusterStatus(request.cluster);
    const found = matching(declarations, request.name, noConfigMap);
    terminal.data({ cluster: url, declarations: found });
    return explainAll(found, terminal);
  }
  const { status, up } = readStatus(stateDir(request.state));
  const found = matching(status.declarations, request.name, noFile);
  terminal.data({ running: up !== undefined, updatedAt: status.updatedAt, declarations: found });
  const code = explainAll(found, terminal);
  if (up === undefined) terminal.line(`\ntoolyard up is not running; this is how it was at ${status.updatedAt}`);
  return code;
}

function explainAll(found: readonly DeclarationStatus[], terminal: Terminal): ExitCode {
  for (const [i, one] of found.entries()) {
    if (i > 0) terminal.line();
    printExplanation(one, terminal);
  }
  return found.every(isPublished) ? exit.done : exit.no;
}

function isPublished({ conditions }: DeclarationStatus): boolean {
  return conditionOf(conditions, 'Published')?.status === 'True';
}

const noFile = 'nothing is declared: put a <any>/server.json into the catalog';
const noConfigMap = 'nothing is declared: no ConfigMap here has the label toolyard.dev/kind=server.json';

/**
 * By name, by the part of it after the slash, by file, by ConfigMap; a name may have a declaration for each of several versions.
 * @throws CliError `notFound` naming what is declared
 */
function matching(declarations: readonly DeclarationStatus[], name: string, none: string): readonly DeclarationStatus[] {
  const exact = declarations.filter((one) => one.name === name || one.source === name);
  const found = exact.length > 0 ? exact : declarations.filter(({ name: full, source }) => endsWith(full, name) || endsWith(source, name));
  if (found.length > 0) return found;
  const names = [...new Set(declarations.map((one) => one.name || one.source))];
  throw new CliError(exit.notFound, `nothing declares ${name}`, { next: names.length === 0 ? none : `declared are ${names.join(', ')}` });
}

function endsWith(path: string, name: string): boolean {
  return path.endsWith(`/${name}`) || path.endsWith(`/${name}/server.json`);
}

function printExplanation(one: DeclarationStatus, terminal: Terminal): void {
  const { paint } = terminal;
  terminal.line(`${paint.strong(safe(nameOf(one)))}  ${one.state}`);
  for (const line of explanation(one)) terminal.prose(`  ${safe(line)}`);
}

/** The answers to: is it declared rightly, does its server answer, what does the registry show, what to do next. Pure. */
export function explanation(one: DeclarationStatus): string[] {
  const lines = [`Declared in ${one.source}${acceptedSentence(one)}`];
  for (const fault of one.faults ?? []) lines.push(`  ${faultLine(fault)}`);
  const reachable = conditionOf(one.conditions, 'Reachable');
  if (reachable !== undefined) lines.push(`Server: ${at(one.endpoint)}${reachable.message}, since ${reachable.lastTransitionTime}`);
  const advertised = conditionOf(one.conditions, 'Advertised');
  if (advertised !== undefined) lines.push(`Address: ${advertised.message}`);
  const published = conditionOf(one.conditions, 'Published');
  if (published !== undefined) lines.push(`Registry: ${published.message}, since ${published.lastTransitionTime}`);
  if (one.tools !== undefined) lines.push(`Tools: ${toolList(one.tools)}`);
  return [...lines, `Next: ${nextStep(one)}`];
}

function acceptedSentence({ conditions, faults = [] }: DeclarationStatus): string {
  const accepted = conditionOf(conditions, 'Accepted');
  if (accepted === undefined) return '';
  if (accepted.status !== 'False') return `: ${accepted.message}`;
  // the faults are listed below
  return faults.length > 0 ? ', which cannot be used:' : `, which cannot be used: ${accepted.message}`;
}

function at(endpoint: string | undefined): string {
  return endpoint === undefined ? '' : `${endpoint}: `;
}

function toolList({ count, names }: NonNullable<DeclarationStatus['tools']>): string {
  const shown = names.slice(0, 12).join(', ');
  return count > 12 ? `${shown} and ${count - 12} more` : shown || 'none';
}

function nextStep(one: DeclarationStatus): string {
  if ((one.faults ?? []).length > 0)
    return `correct ${one.source}; it is read again at once. toolyard validate checks it without a registry`;
  const reachable = conditionOf(one.conditions, 'Reachable');
  switch (one.state) {
    case 'Published':
      return 'nothing';
    case 'Withdrawing':
      return 'put its file back if that was a mistake';
    case 'Refused':
      return 'change what the refusal names; it is read again at once';
    default:
      return reachable?.status === 'False' ? startServer(one) : 'wait: it is being worked on';
  }
}

function startServer({ endpoint, nextProbeAt }: DeclarationStatus): string {
  const when = nextProbeAt === undefined ? 'it is asked again by itself' : `it is asked again at ${nextProbeAt}`;
  return `start the server at ${endpoint ?? 'its address'}, or correct its address; ${when}`;
}
