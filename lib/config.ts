import { z } from 'zod';

/** One environment variable that a process could not accept. */
export interface ConfigFault {
  readonly name: string;
  /** what was set, `(not set)`, or `(hidden)` for a secret */
  readonly got: string;
  /** what is accepted, in words */
  readonly accepts: string;
}

/** Thrown by `readConfig`; the message lists every bad variable, one per line, ready to be printed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(faults.map((fault) => `${fault.name}: got ${fault.got}, accepts ${fault.accepts}`).join('\n'));
    this.faults = faults;
  }
}

/** Marks a setting whose value must never be printed: `z.string().meta({ secret: true })`. */
interface SettingMeta {
  readonly description?: string;
  readonly secret?: boolean;
}

/** One row of `--help` and docs/configuration.md. */
export interface Setting {
  readonly name: string;
  readonly description: string;
  /** `required`, `unset`, or the default as it would be written */
  readonly initial: string;
}

/**
 * Reads one process's settings. An empty variable counts as unset; variables that the schema does not name are ignored.
 * @throws ConfigError listing every variable that is wrong, not just the first
 */
export function readConfig<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv): z.output<S> {
  const names = Object.keys(schema.shape);
  const given = Object.fromEntries(names.map((name) => [name, env[name]]).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map((issue) => faultOf(schema, env, issue)));
}

/** Every setting of a schema, in the order in which it is written there. */
export function describeConfig(schema: z.ZodObject): readonly Setting[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    description: metaOf(field).description ?? '',
    initial: initialOf(field),
  }));
}

function faultOf(schema: z.ZodObject, env: NodeJS.ProcessEnv, issue: z.core.$ZodIssue): ConfigFault {
  const name = String(issue.path[0] ?? 'settings');
  const meta = metaOf(schema.shape[name]);
  const value = env[name];
  const got = value === undefined || value === '' ? '(not set)' : meta.secret === true ? '(hidden)' : JSON.stringify(value);
  const about = meta.description === undefined ? '' : ` (${meta.description})`;
  return { name, got, accepts: `${acceptedBy(issue)}${about}` };
}

function acceptedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `at least ${issue.minimum}`;
    case 'too_big':
      return `at most ${issue.maximum}`;
    case 'invalid_type':
      return `a ${issue.expected}`;
    default:
      return issue.message;
  }
}

/** A field that only replaces another's default keeps what was said of that one. */
function metaOf(field: unknown): SettingMeta {
  if (!(field instanceof z.ZodType)) return {};
  const inner = field instanceof z.ZodDefault || field instanceof z.ZodOptional ? metaOf(field.unwrap()) : {};
  return { ...inner, ...(field.meta() as SettingMeta | undefined) };
}

function initialOf(field: unknown): string {
  if (!(field instanceof z.ZodType)) return 'unset';
  const absent = field.safeParse(undefined);
  if (!absent.success) return 'required';
  return absent.data === undefined ? 'unset' : typeof absent.data === 'string' ? absent.data : JSON.stringify(absent.data);
}
