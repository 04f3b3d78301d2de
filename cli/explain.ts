import type { DeclarationStatus } from '../operator/records/status.ts';
import { CliError, exit, type ExitCode } from './exit.ts';
import { stateDir } from './stack/state-dir.ts';
import { conditionOf, faultLine, nameOf, readStatus } from './status.ts';
import { safe, type Terminal } from './terminal.ts';

/** Says why a server is, or is not, published; the exit code tells whether it is. */
export async function explain(request: { name: string; state: string }, terminal: Terminal): Promise<ExitCode> {
  const { status, up } = readStatus(stateDir(request.state));
  const found = matching(status.declarations, request.name);
  if (found.length === 0) throw notDeclared(request.name, status.declarations);
  terminal.data({ running: up !== undefined, updatedAt: status.updatedAt, declarations: found });
  for (const [i, one] of found.entries()) {
    if (i > 0) terminal.line();
    printExplanation(one, terminal);
  }
  if (up === undefined) terminal.line(`\ntoolyard up is not running; this is how it was at ${status.updatedAt}`);
  return found.every(isPublished) ? exit.done : exit.no;
}

function isPublished({ conditions }: DeclarationStatus): boolean {
  return conditionOf(conditions, 'Published')?.status === 'True';
}

/** By name, by the part of it after the slash, or by file; a name may have a declaration for each of several versions. */
function matching(declarations: readonly DeclarationStatus[], name: string): DeclarationStatus[] {
  const exact = declarations.filter((one) => one.name === name || one.source === name);
  if (exact.length > 0) return exact;
  return declarations.filter((one) => one.name.endsWith(`/${name}`) || one.source.endsWith(`/${name}/server.json`));
}

function notDeclared(name: string, declarations: readonly DeclarationStatus[]): CliError {
  const names = [...new Set(declarations.map((one) => one.name || one.source))];
  const next = names.length === 0 ? 'nothing is declared: put a <any>/server.json into the catalog' : `declared are ${names.join(', ')}`;
  return new CliError(exit.notFound, `nothing declares ${name}`, { next });
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
      return 'change what the refusal names; the file is read again at once';
    default:
      return reachable?.status === 'False' ? startServer(one) : 'wait: it is being worked on';
  }
}

function startServer({ endpoint, nextProbeAt }: DeclarationStatus): string {
  const when = nextProbeAt === undefined ? 'it is asked again by itself' : `it is asked again at ${nextProbeAt}`;
  return `start the server at ${endpoint ?? 'its address'}, or correct its address; ${when}`;
}
