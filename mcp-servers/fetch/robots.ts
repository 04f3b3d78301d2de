/**
 * The rules of one robots.txt that concern one crawler (RFC 9309). Parsing takes linear time and memory, matching bounded time, whatever
 * the file says: it comes from strangers.
 */
export interface RobotsRules {
  /** how many there are */
  readonly count: number;
  /** Whether a path with its query may be fetched, and the line that forbids it. */
  judge(path: string): RobotsVerdict;
}

export type RobotsVerdict = { readonly allow: true } | { readonly allow: false; readonly rule: string };

interface Rule {
  readonly allow: boolean;
  readonly pattern: string;
  /** the line as the file has it, without its comment */
  readonly line: string;
}

interface Group {
  readonly agents: string[];
  readonly rules: Rule[];
}

/**
 * Most comparisons of characters for one verdict: 30 ms at the worst. Ten thousand rules with wildcards need a tenth of that for a path of
 * 100 characters; only a file and a path made for it need more.
 */
const MAX_COMPARISONS = 100_000_000;

/**
 * The product token of a User-Agent header: its leading letters, underscores and hyphens, in lower case.
 * Source: RFC 9309 section 2.2.1.
 */
export function productToken(userAgent: string): string {
  return /^[a-z_-]*/i.exec(userAgent.trim())?.[0].toLowerCase() ?? '';
}

/** Groups for the same token are one; without any, the groups for `*` apply (section 2.2.1). */
export function parseRobots(text: string, token: string): RobotsRules {
  const groups = groupsOf(text);
  const own = groups.filter(({ agents }) => token !== '' && agents.some((agent) => productToken(agent) === token));
  const applying = own.length > 0 ? own : groups.filter(({ agents }) => agents.includes('*'));
  const rules = applying.flatMap((group) => group.rules).sort(byRank);
  return { count: rules.length, judge: (path) => judge(rules, path) };
}

/** The longest pattern first, and Allow before Disallow of the same length (section 2.2.2). */
function byRank(a: Rule, b: Rule): number {
  return b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow);
}

/** Rules end a list of agents; records of other kinds do not (section 2.2.4). */
function groupsOf(text: string): readonly Group[] {
  const groups: Group[] = [];
  let open: Group = { agents: [], rules: [] };
  let listing = false;
  for (const { key, value, line } of records(text)) {
    if (key === 'user-agent') {
      if (!listing) groups.push((open = { agents: [], rules: [] }));
      listing = true;
      open.agents.push(value);
    } else if (key === 'allow' || key === 'disallow') {
      listing = false;
      if (value !== '') open.rules.push({ allow: key === 'allow', pattern: normalise(value), line });
    }
  }
  return groups;
}

/** The first of the ranked rules that matches decides. What cannot be decided in time is not allowed. */
function judge(ranked: readonly Rule[], path: string): RobotsVerdict {
  const target = normalise(path);
  if (target === '/robots.txt') return { allow: true };
  const matcher = new Matcher(target);
  for (const { allow, pattern, line } of ranked) {
    if (matcher.matches(pattern)) return allow ? { allow } : { allow, rule: line };
    if (matcher.comparisons > MAX_COMPARISONS) return { allow: false, rule: 'more rules with wildcards than can be matched with this URL' };
  }
  return { allow: true };
}

/** Matches patterns with one path, and counts what that costs. */
class Matcher {
  comparisons = 0;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
  }

  /** `*` stands for anything, `$` at the end for the end. The pieces between are found from left to right, each once. */
  matches(pattern: string): boolean {
    const target = this.#target;
    const anchored = pattern.endsWith('$');
    const [head = '', ...pieces] = (anchored ? pattern.slice(0, -1) : pattern).split('*');
    if (!target.startsWith(head)) return false;
    const last = anchored ? pieces.pop() : undefined;
    let end: number | undefined = head.length;
    for (const piece of pieces) {
      end = this.#endOf(piece, end);
      if (end === undefined) return false;
    }
    if (!anchored) return true;
    return last === undefined ? end === target.length : target.length - last.length >= end && target.endsWith(last);
  }

  /** Where the first occurrence of a piece ends. A search may compare the whole piece at every place that it looks at. */
  #endOf(piece: string, from: number): number | undefined {
    const found = this.#target.indexOf(piece, from);
    const end = found < 0 ? this.#target.length : found + piece.length;
    this.comparisons += (end - from) * piece.length;
    return found < 0 ? undefined : end;
  }
}

/** Escapes of unreserved characters are undone, all other non-ASCII is escaped, so that both spellings compare equal (section 2.2.2). */
function normalise(path: string): string {
  return path
    .replace(/[^\x20-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed()))
    .replace(/%[0-9a-f]{2}/gi, (escape) => {
      const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
    });
}

function* records(text: string): Generator<{ key: string; value: string; line: string }> {
  for (const raw of text.replace(/^\uFEFF/, '').split(/\r\n?|\n/)) {
    const [line = ''] = raw.split('#', 1);
    const colon = line.indexOf(':');
    if (colon > 0) yield { key: line.slice(0, colon).trim().toLowerCase(), value: line.slice(colon + 1).trim(), line: line.trim() };
  }
}
