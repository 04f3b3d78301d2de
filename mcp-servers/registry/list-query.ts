import { codePoints } from '../../lib/registry-api/server-json.ts';
import { Problem, type Detail } from './problem.ts';
import type { ListQuery } from './store.ts';
import { queryValue } from './target.ts';
import { parseTime } from './time.ts';

const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 100;
const INT64_MAX = 2 ** 63;
const MIN_SEARCH = 3;

/**
 * Reads the query of `GET /servers`. Unknown parameters are ignored, empty ones are absent.
 * @throws Problem 422 with every malformed value, then 400 or 422 for the first that makes no sense
 */
export function listQueryOf(query: string | undefined): ListQuery {
  const text = (name: string) => queryText(query, name);
  const [cursor, updatedSince, search, version] = [text('cursor'), text('updated_since'), text('search'), text('version')];
  const faults: Detail[] = [];
  const limit = limitOf(text('limit'), faults);
  const includeDeleted = booleanOf('include_deleted', text('include_deleted'), faults);
  if (faults.length > 0) throw new Problem(422, 'validation failed', faults);

  const since = updatedSince === '' ? undefined : timeOf(updatedSince);
  requireLongSearch(search);
  return {
    limit,
    includeDeleted: resolveDeleted(includeDeleted, since !== undefined),
    onlyLatest: version === 'latest',
    ...(cursor !== '' && { after: cursorOf(cursor) }),
    ...(since !== undefined && { updatedSince: since }),
    ...(search !== '' && { search }),
    ...(version !== '' && version !== 'latest' && { version }),
  };
}

/** `include_deleted` of the single-record and versions routes. @throws Problem 422 */
export function includeDeletedOf(query: string | undefined): boolean {
  const faults: Detail[] = [];
  const value = booleanOf('include_deleted', queryText(query, 'include_deleted'), faults);
  if (faults.length > 0) throw new Problem(422, 'validation failed', faults);
  return value ?? false;
}

/** The place after which the next page begins, as text for the client to hand back. */
export function cursorText(last: { readonly name: string; readonly version: string }): string {
  return `${last.name}:${last.version}`;
}

/** Any text is a cursor; without a colon it is a name alone. */
function cursorOf(text: string): { name: string; version?: string } {
  const colon = text.indexOf(':');
  return colon === -1 ? { name: text } : { name: text.slice(0, colon), version: text.slice(colon + 1) };
}

function queryText(query: string | undefined, name: string): string {
  const value = queryValue(query, name);
  if (!value.ok) throw new Problem(400, `Invalid request: query parameter ${name} is not valid UTF-8`);
  return value.text;
}

function limitOf(text: string, faults: Detail[]): number {
  if (text === '') return DEFAULT_LIMIT;
  const location = 'query.limit';
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || Math.abs(value) > INT64_MAX) faults.push({ message: 'invalid integer', location, value: text });
  else if (value < 1) faults.push({ message: 'expected number >= 1', location, value });
  else if (value > MAX_LIMIT) faults.push({ message: `expected number <= ${MAX_LIMIT}`, location, value });
  return value;
}

/** The spellings of Go's strconv.ParseBool. */
const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function booleanOf(name: string, text: string, faults: Detail[]): boolean | undefined {
  if (text === '') return undefined;
  if (TRUE.has(text)) return true;
  if (!FALSE.has(text)) faults.push({ message: 'invalid boolean', location: `query.${name}`, value: text });
  return false;
}

function timeOf(text: string): number {
  const time = parseTime(text);
  if (time === undefined)
    throw new Problem(400, 'Invalid updated_since format: expected RFC3339 timestamp (e.g., 2025-08-07T13:15:04.280Z)');
  return time;
}

function requireLongSearch(search: string): void {
  if (search === '' || codePoints(search.trim()) >= MIN_SEARCH) return;
  throw new Problem(422, `search must contain at least ${MIN_SEARCH} characters after trimming surrounding whitespace`);
}

function resolveDeleted(asked: boolean | undefined, syncing: boolean): boolean {
  if (!syncing) return asked ?? false;
  if (asked !== false) return true;
  throw new Problem(400, 'Cannot set include_deleted=false when using updated_since (incremental sync requires deleted servers)');
}
