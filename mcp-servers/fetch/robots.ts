/**
 * The rules of one robots.txt that concern one crawler (RFC 9309). Parsing and matching take linear time and memory whatever the file
 * says: it comes from strangers.
 */
export interface RobotsRules {
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
  const rules = applying.flatMap((group) => group.rules);
  return { judge: (path) => judge(rules, path) };
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

/** The longest pattern that matches wins, and Allow over Disallow of the same length (section 2.2.2). */
function judge(rules: readonly Rule[], path: string): RobotsVerdict {
  const target = normalise(path);
  if (target === '/robots.txt') return { allow: true };
  let best: Rule | undefined;
  for (const rule of rules) {
    if (best !== undefined && !outranks(rule, best)) continue;
    if (matches(rule.pattern, target)) best = rule;
  }
  return best === undefined || best.allow ? { allow: true } : { allow: false, rule: best.line };
}

function outranks(rule: Rule, best: Rule): boolean {
  return rule.pattern.length > best.pattern.length || (rule.pattern.length === best.pattern.length && rule.allow && !best.allow);
}

/** `*` stands for anything, `$` at the end for the end. The pieces between are found from left to right, each once. */
function matches(pattern: string, target: string): boolean {
  const anchored = pattern.endsWith('$');
  const [head = '', ...pieces] = (anchored ? pattern.slice(0, -1) : pattern).split('*');
  if (!target.startsWith(head)) return false;
  let offset = head.length;
  const last = anchored ? pieces.pop() : undefined;
  for (const piece of pieces) {
    const found = target.indexOf(piece, offset);
    if (found < 0) return false;
    offset = found + piece.length;
  }
  if (!anchored) return true;
  return last === undefined ? offset === target.length : target.length - last.length >= offset && target.endsWith(last);
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
