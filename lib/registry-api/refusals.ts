import { z } from 'zod';
import { RegistryError, type RegistryErrorCode } from './errors.ts';
import { shown, type Fault } from './fault.ts';
import { echoes } from './shape.ts';
import { MAX_FAULTS } from './validate.ts';

/** An answer with a status other than 2xx. */
export interface Refusal {
  readonly status: number;
  /** parsed JSON; undefined when it is none */
  readonly body: unknown;
  readonly retryAfterMs?: number | undefined;
  /** what was asked for, for the message: `publish io.example/a@1.0.0 at http://…` */
  readonly action: string;
}

/** RFC 7807 as the registry writes it; others may leave out any of it. */
const problemSchema = z.object({
  title: z.string().optional().catch(undefined),
  detail: z.string().optional().catch(undefined),
  errors: z
    .array(z.object({ message: z.string(), location: z.string().default(''), value: z.unknown().optional() }))
    .optional()
    .catch(undefined),
});
type Problem = z.infer<typeof problemSchema>;

/** The first that fits decides. Texts are the official registry's; those of other registries go by their status. */
const RULES: readonly { readonly status: number; readonly says?: string; readonly code: RegistryErrorCode }[] = [
  { status: 400, says: 'cannot publish duplicate version', code: 'duplicate' },
  { status: 400, says: 'No changes to apply', code: 'no-change' },
  { status: 400, says: 'exceeds 4KB limit', code: 'invalid' },
  { status: 401, code: 'unauthorized' },
  { status: 403, code: 'forbidden' },
  { status: 404, says: 'Endpoint not found', code: 'protocol' },
  { status: 404, code: 'not-found' },
  { status: 408, code: 'timeout' },
  { status: 409, code: 'duplicate' },
  { status: 422, code: 'invalid' },
  { status: 429, code: 'rate-limited' },
];

/** Longest text of a registry that goes into an error message. */
const MAX_WORDS = 1000;

/** What a refusal means. Pure. */
export function refusalOf({ status, body, retryAfterMs, action }: Refusal): RegistryError {
  const problem = problemSchema.safeParse(body).data;
  const words = wordsOf(problem);
  const code = codeOf(status, { words, readable: problem !== undefined });
  const faults = code === 'invalid' ? faultsOf(problem) : [];
  const message = `${action}: ${meaningOf(code, status)}${words === '' ? '' : `: ${words}`}`;
  return new RegistryError(code, message, {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(faults.length === 0 ? {} : { faults }),
  });
}

/** Milliseconds of a Retry-After header, given in seconds or as a date; undefined when there is none that can be read. */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  const wait = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

function codeOf(status: number, { words, readable }: { words: string; readable: boolean }): RegistryErrorCode {
  // A 404 that is no JSON comes from a web server that knows no registry.
  if (status === 404 && !readable) return 'protocol';
  const rule = RULES.find(({ status: its, says = '' }) => its === status && words.includes(says));
  if (rule !== undefined) return rule.code;
  if (status >= 500) return 'unavailable';
  return status >= 400 ? 'refused' : 'protocol';
}

const MEANINGS: Partial<Record<RegistryErrorCode, string>> = {
  unauthorized: 'the registry does not accept the token; check that the signing seed is the registry’s own',
  forbidden: 'the token has no permission for this name',
  invalid: 'the registry refuses the document',
  duplicate: 'this version was published before (perhaps deleted since); edit or restore it, or use another version',
  'no-change': 'nothing to change',
  'not-found': 'no such record',
  'rate-limited': 'the registry asks to wait',
  protocol: 'there is no MCP registry API at this address',
};

function meaningOf(code: RegistryErrorCode, status: number): string {
  return `${MEANINGS[code] ?? 'refused'} (HTTP ${status})`;
}

function wordsOf(problem: Problem | undefined): string {
  const said = [problem?.detail ?? problem?.title, ...(problem?.errors ?? []).map(({ message }) => message)].filter(
    (text) => text !== undefined,
  );
  return shown(said.join('; ').replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' '), MAX_WORDS);
}

function faultsOf(problem: Problem | undefined): Fault[] {
  const echo = echoes();
  return (problem?.errors ?? []).slice(0, MAX_FAULTS).map(({ message, location, value }) => ({
    stage: 'input',
    path: shown(pathIn(location)),
    message: shown(message),
    value: echo(value),
  }));
}

/** The registry's place of a fault as a path in the document. One that ends in a dot is that of an empty key. */
function pathIn(location: string): string {
  return location.replace(/\.$/, '.""').replace(/^body\.?/, '');
}
