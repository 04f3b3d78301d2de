import type { DeclarationStatus } from '../operator/records/status.ts';
import { conditionOf } from './status.ts';
import { safe, table, type Paint } from './terminal.ts';

/** Name, version, state, tools, address, and for what is not plainly published the reason. */
export function declarationTable(declarations: readonly DeclarationStatus[], paint: Paint): string[] {
  const head = ['NAME', 'VERSION', 'STATE', 'TOOLS', 'ADDRESS'].map(paint.dim);
  const rows = declarations.map((one) => [
    safe(one.name || one.source),
    safe(one.version),
    paintState(one, paint),
    one.tools === undefined ? '' : String(one.tools.count),
    safe(one.endpoint ?? ''),
  ]);
  const lines = table([head, ...rows]);
  return lines.flatMap((line, i) => {
    const one = declarations[i - 1];
    return one === undefined || one.state === 'Published' ? [line] : [line, paint.dim(`  ${safe(reasonOf(one))}`)];
  });
}

function paintState({ state }: DeclarationStatus, paint: Paint): string {
  if (state === 'Published') return paint.good(state);
  return state === 'Refused' ? paint.bad(state) : paint.warn(state);
}

function reasonOf({ conditions }: DeclarationStatus): string {
  const accepted = conditionOf(conditions, 'Accepted');
  if (accepted?.status === 'False') return accepted.message;
  return conditionOf(conditions, 'Published')?.message ?? '';
}
