import type { DeclarationStatus, OperatorView } from '../../operator/records/status.ts';
import type { Isolation } from '../stack/isolation.ts';
import type { PartState } from '../stack/part-state.ts';
import { hasAnswer, partNames, viewOf, type StackModel } from '../stack/model.ts';
import { nameOf } from '../status.ts';
import { safe, shownPath, table, type Paint } from '../terminal.ts';
import { declarationTable } from '../declaration-table.ts';
import { clientName, instructions } from '../../lib/connect.ts';
import type { Happening } from './story.ts';

const marks = { starting: '…', ready: '✔', unready: '✖', restarting: '↻', failed: '✖', stopped: '·' } as const;

/** One line for each part and for the operator, while they start. */
export function partLines(model: StackModel, elapsedMs: number, paint: Paint): string[] {
  const rows = partNames.map((name) => {
    const state = model.parts[name];
    return [`${paintMark(state, paint)} ${name}`, addressOf(model, name), partWords(state, elapsedMs)];
  });
  return table([...rows, operatorRow(model, paint)]);
}

function operatorRow({ operator }: StackModel, paint: Paint): string[] {
  if (operator.is === 'waiting') return [`${paint.dim('·')} operator`, '', 'waits for the others'];
  const asking = operator.view.declarations.filter((one) => !hasAnswer(one));
  if (asking.length === 0)
    return [
      `${paint.good('✔')} operator`,
      '',
      `keeps ${operator.view.declarations.length === 1 ? '1 declaration' : `${operator.view.declarations.length} declarations`}`,
    ];
  return [`${paint.warn('…')} operator`, '', `asks ${asking.map((one) => safe(one.name)).join(', ')}`];
}

function paintMark(state: PartState, paint: Paint): string {
  const mark = marks[state.is];
  if (state.is === 'ready') return paint.good(mark);
  return state.is === 'unready' || state.is === 'failed' ? paint.bad(mark) : paint.warn(mark);
}

function addressOf({ urls }: StackModel, name: (typeof partNames)[number]): string {
  return name === 'registry' ? urls.registry : `${urls[name]}/mcp`;
}

/** A part's state in words; `elapsedMs` is how long it has been starting. */
export function partWords(state: PartState, elapsedMs = 0): string {
  switch (state.is) {
    case 'starting':
      return [state.reason === undefined ? 'starts' : safe(state.reason), ...(elapsedMs >= 1_000 ? [seconds(elapsedMs)] : [])].join(', ');
    case 'ready':
      return `ready in ${seconds(state.tookMs)}`;
    case 'unready':
      return `not ready: ${safe(state.reason)}`;
    case 'restarting':
      return `${state.why}; starts again in ${seconds(state.delayMs)}`;
    case 'failed':
      return `failed: ${state.why}`;
    default:
      return 'stopped';
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** What is published, and what holds the sandboxes. */
export function overview(model: StackModel, isolation: Isolation | undefined, paint: Paint): string[] {
  const declarations = viewOf(model)?.declarations ?? [];
  return [
    ...heading('Servers', paint),
    ...(declarations.length === 0 ? ['nothing is declared'] : declarationTable(declarations, paint)).map(indent),
    '',
    ...heading('Tools', paint),
    ...table(declarations.flatMap(toolRow)).map(indent),
    '',
    ...isolationLines(model, isolation, paint),
    '',
  ];
}

/** How to connect a client: what goes into a shell or a file, to be printed in one piece. */
export function connectLines(model: StackModel, paint: Paint): string[] {
  const servers = connectable(viewOf(model));
  if (servers.length === 0) return [];
  const lines = instructions(servers, model.urls.registry);
  return [
    ...heading('Connect', paint),
    '  A browser',
    `    ${model.urls.registry}/`,
    '  Claude Code',
    ...lines.claudeCode.map((line) => `    ${line}`),
    '  VS Code, in .vscode/mcp.json',
    ...lines.vscode.map((line) => `    ${line}`),
    '  VS Code, in settings.json, to find servers through the registry',
    `    ${lines.vscodeGallery}`,
    '  MCP Inspector',
    ...lines.inspector.map((line) => `    ${line}`),
    '',
  ];
}

/** What somebody who sees all this for the first time can do next. */
export function invitation(catalog: string): string {
  return `To add a server, put <any>/server.json into ${shownPath(catalog)}. What changes is shown here. Ctrl-C stops everything.`;
}

function isolationLines({ parts }: StackModel, isolation: Isolation | undefined, paint: Paint): string[] {
  if (isolation === undefined) return [`${paint.bad('No sandboxes')}: the sandbox server is ${partWords(parts.sandbox)}`];
  const gaps = isolation.gaps.map((gap) => `  ${paint.warn('does not hold here')}  ${safe(gap)}`);
  return [`Sandboxes are isolated by ${paint.strong(safe(isolation.name))}`, ...gaps];
}

/** Columns for the names of one server's tools. */
const TOOLS_WIDTH = 70;

function toolRow({ name, tools }: DeclarationStatus): string[][] {
  if (tools === undefined || tools.count === 0) return [];
  const room = tools.names.map((_, i) => tools.names.slice(0, i + 1).join(', ').length).filter((length) => length <= TOOLS_WIDTH).length;
  const shown = tools.names.slice(0, Math.max(room, 1));
  return [[clientName(name), safe(shown.join(', ')) + (tools.count > shown.length ? ` and ${tools.count - shown.length} more` : '')]];
}

/** Published servers with an address that a client can use. */
export function connectable(view: OperatorView | undefined): { name: string; url: string }[] {
  return (view?.declarations ?? []).flatMap(({ name, state, endpoint }) =>
    state === 'Published' && endpoint !== undefined ? [{ name, url: endpoint }] : [],
  );
}

function heading(text: string, paint: Paint): string[] {
  return [paint.strong(text)];
}

function indent(line: string): string {
  return `  ${line}`;
}

/** A happening with the time at which it was noticed. */
export function happeningLine({ about, what, tone }: Happening, time: string, paint: Paint): string {
  const tones = { good: paint.good, bad: paint.bad, warn: paint.warn, plain: String } as const;
  return `${paint.dim(time)}  ${paint.strong(safe(about))}  ${tones[tone](safe(what))}`;
}

/** The line that stays at the bottom of a terminal: counts, and for what is withdrawn soon the time left. */
export function standing(model: StackModel, now: number, paint: Paint): string {
  const declarations = viewOf(model)?.declarations ?? [];
  const counted = Object.entries(Object.groupBy(declarations, ({ state }) => state)).map(
    ([state, all]) => `${all.length} ${state.toLowerCase()}`,
  );
  const leaving = declarations.flatMap((one) => {
    const left = withdrawnIn(one, now);
    if (left === undefined || one.onDelete === 'keep') return [];
    return [paint.warn(`${safe(nameOf(one))} is ${one.onDelete === 'deprecate' ? 'deprecated' : 'withdrawn'} in ${left} s`)];
  });
  const registry = viewOf(model)?.registry.state === 'down' ? [paint.bad('the registry is down')] : [];
  return [...registry, ...counted, ...leaving, paint.dim('Ctrl-C stops')].join(' · ');
}

/** Whole seconds until a record whose declaration is gone leaves the registry. */
function withdrawnIn({ withdrawAt }: DeclarationStatus, now: number): number | undefined {
  return withdrawAt === undefined ? undefined : Math.max(0, Math.ceil((Date.parse(withdrawAt) - now) / 1000));
}
