/** A semantic version in its parts; build metadata does not count. */
interface SemVer {
  readonly core: readonly string[];
  readonly prerelease: readonly string[];
}

const NUMBER = '(?:0|[1-9][0-9]*)';
const IDENTIFIER = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
const SEMVER = new RegExp(
  `^v?(?<core>${NUMBER}\\.${NUMBER}\\.${NUMBER})(?:-(?<prerelease>${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

/** Whether the registry orders this version by semantic precedence: three numbers, an optional leading `v`, no leading zeros. */
export function isSemver(version: string): boolean {
  return SEMVER.test(version);
}

/**
 * The registry's order of versions: semantic precedence, build metadata ignored; a semantic version beats any other string.
 * @returns undefined when neither is semantic: then the later publication wins
 * Source: modelcontextprotocol/registry v1.8.8 internal/service/versioning.go (golang.org/x/mod/semver with exactly three parts).
 */
export function compareVersions(a: string, b: string): -1 | 0 | 1 | undefined {
  const left = parse(a);
  const right = parse(b);
  if (left !== undefined && right !== undefined) return compareSemver(left, right);
  if (left === right) return undefined;
  return left === undefined ? -1 : 1;
}

/** What picking the latest version needs to know of each. */
export interface Candidate {
  readonly version: string;
  readonly deleted: boolean;
  /** any one unit, larger is later */
  readonly publishedAt: number;
}

/**
 * The record that carries `isLatest` after a status change: the highest that is not deleted; when all are deleted the highest of them,
 * so that it can still be found and restored. Of equals the one published last.
 */
export function pickLatest<C extends Candidate>(candidates: readonly C[]): C | undefined {
  const alive = candidates.filter((candidate) => !candidate.deleted);
  const eligible = alive.length > 0 ? alive : candidates;
  return eligible.reduce<C | undefined>((best, next) => (best === undefined || ranksAbove(next, best) ? next : best), undefined);
}

function ranksAbove(next: Candidate, best: Candidate): boolean {
  const order = compareVersions(next.version, best.version) ?? 0;
  return order > 0 || (order === 0 && next.publishedAt > best.publishedAt);
}

function parse(version: string): SemVer | undefined {
  const groups = SEMVER.exec(version)?.groups;
  if (groups === undefined) return undefined;
  return { core: groups['core']?.split('.') ?? [], prerelease: groups['prerelease']?.split('.') ?? [] };
}

function compareSemver(a: SemVer, b: SemVer): -1 | 0 | 1 {
  const core = compareIdentifiers(a.core, b.core);
  if (core !== 0 || (a.prerelease.length === 0 && b.prerelease.length === 0)) return core;
  // A version without a prerelease follows all of its prereleases.
  if (a.prerelease.length === 0) return 1;
  return b.prerelease.length === 0 ? -1 : compareIdentifiers(a.prerelease, b.prerelease);
}

function compareIdentifiers(a: readonly string[], b: readonly string[]): -1 | 0 | 1 {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (right === undefined) return 1;
    const order = compareIdentifier(left, right);
    if (order !== 0) return order;
  }
  return a.length < b.length ? -1 : 0;
}

function compareIdentifier(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const numeric = [isNumber(a), isNumber(b)];
  if (numeric[0] !== numeric[1]) return numeric[0] === true ? -1 : 1;
  // Numbers of any size: without leading zeros, the longer one is greater.
  if (numeric[0] === true && a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

function isNumber(identifier: string): boolean {
  return /^[0-9]+$/.test(identifier);
}
