import type { Declaration } from './operator-status.ts';

/** What tests of the pages write as an operator would. */

export function statusOf(...declarations: readonly unknown[]): string {
  return JSON.stringify({ version: 1, install: 'toolyard', updatedAt: '2026-11-30T16:12:25.958Z', declarations }, undefined, 2);
}

/** A declaration as an operator writes it, with one reason for its state. */
export function declarationOf(
  name: string,
  state: Declaration['state'],
  changes: Partial<Declaration> & { readonly why?: string } = {},
): Readonly<Record<string, unknown>> {
  const { why = 'as declared', ...rest } = changes;
  const at = '2026-11-30T16:12:25.958Z';
  const condition = (type: string, status: string) => ({ type, status, reason: 'Test', message: why, lastTransitionTime: at });
  return {
    source: `catalog/${name.slice(name.indexOf('/') + 1)}/server.json`,
    name,
    version: '1.0.0',
    state,
    conditions: [
      condition('Accepted', state === 'Refused' ? 'False' : 'True'),
      condition('Published', state === 'Published' ? 'True' : 'False'),
    ],
    ...rest,
  };
}
