import { z } from 'zod';
import { parseJson } from '../../../lib/json.ts';
import { cut } from './html.ts';

/** Longest text of a status that is shown; the operator's own are shorter. */
const MAX_TEXT = 600;
const MAX_FAULTS = 100;
const MAX_TOOLS = 1000;
const MAX_CONDITIONS = 10;

const text = z.string().transform((value) => cut(value, MAX_TEXT));

function listOf<T extends z.ZodType>(item: T, most: number) {
  return z.array(item).transform((items) => items.slice(0, most));
}

const condition = z.object({
  type: text,
  status: z.enum(['True', 'False', 'Unknown']),
  message: text,
  lastTransitionTime: text,
});

const declaration = z.object({
  /** the file or ConfigMap that declares it */
  source: text,
  /** '' when the declaration does not tell */
  name: text,
  version: text,
  state: z.enum(['Published', 'Deprecated', 'Pending', 'Refused', 'Withdrawing']),
  conditions: listOf(condition, MAX_CONDITIONS),
  faults: listOf(z.object({ path: text, message: text }), MAX_FAULTS).optional(),
  tools: z.object({ count: z.int().min(0), names: listOf(text, MAX_TOOLS) }).optional(),
});

const view = z.object({ version: z.literal(1), updatedAt: text, declarations: z.array(z.unknown()) });

/** What became of one declaration, in the operator's words. */
export type Declaration = z.output<typeof declaration>;

/** What the pages need of the operator's status file. */
export interface OperatorStatus {
  /** when the operator wrote it, RFC 3339 */
  readonly updatedAt: string;
  readonly declarations: readonly Declaration[];
}

/**
 * Reads the text of STATUS_FILE; undefined when it is nothing of an operator. A declaration in another shape is left out: it must not hide
 * the others.
 */
export function readOperatorStatus(json: string): OperatorStatus | undefined {
  const parsed = view.safeParse(parseJson(json));
  if (!parsed.success) return undefined;
  const { updatedAt, declarations } = parsed.data;
  return { updatedAt, declarations: declarations.flatMap((one) => declaration.safeParse(one).data ?? []) };
}

/** Why a declaration is in the state it is in, as the operator's own command line says it. */
export function reasonOf({ conditions }: Declaration): string {
  const find = (type: string) => conditions.find((one) => one.type === type);
  const accepted = find('Accepted');
  const refused = accepted?.status === 'False' ? [accepted.message] : [];
  return [...new Set([...refused, find('Published')?.message ?? ''])].filter((message) => message !== '').join('; ');
}

/** The tools of the declaration of a version, else of another one that tells them. */
export function toolsOf(declarations: readonly Declaration[], version: string | undefined): Declaration['tools'] {
  const telling = declarations.filter(({ tools }) => tools !== undefined);
  return (telling.find((one) => one.version === version) ?? telling[0])?.tools;
}
