import { SandboxError, type CommandResult, type SandboxErrorCode } from './backend.ts';
import { errnoIn, InsideFault, sandboxErrorOf } from './faults.ts';
import { quoted } from './shell.ts';

/** What a file tool has the shell do. Exit codes from 64 on are its own: see `failures`. */
const MISSING = 64;
const NOT_EMPTY = 65;
const TAKEN = 66;

/** One path as an operand, never an option. */
function operand(path: string): string {
  return quoted(path.startsWith('-') ? `./${path}` : path);
}

function unlessThere(path: string): string {
  return `[ -e ${operand(path)} ] || [ -L ${operand(path)} ] || exit ${MISSING}`;
}

/** Links are removed, not what they lead to; a directory that is not empty only with `recursive`. */
export function removal(path: string, recursive: boolean): string {
  const at = operand(path);
  if (recursive) return `${unlessThere(path)}\nrm -rf ${at}`;
  return `${unlessThere(path)}\nif [ -d ${at} ] && [ ! -L ${at} ]; then rmdir ${at} 2>/dev/null || exit ${NOT_EMPTY}; else rm -f ${at}; fi`;
}

/** Directories on the way to the new place are made. */
export function move(path: string, to: string, overwrite: boolean): string {
  const spare = overwrite ? '' : `if [ -e ${operand(to)} ] || [ -L ${operand(to)} ]; then exit ${TAKEN}; fi\n`;
  return `${unlessThere(path)}\n${spare}mkdir -p "$(dirname ${operand(to)})" && mv -fT ${operand(path)} ${operand(to)}`;
}

export function newDirectory(path: string): string {
  return `mkdir -p ${operand(path)}`;
}

export interface Search {
  readonly path: string;
  /** a POSIX extended regular expression */
  readonly pattern: string;
  /** of file names, as shells have it */
  readonly include?: string | undefined;
}

/** Binary files are left out. */
export function search({ path, pattern, include }: Search): string {
  const only = include === undefined ? '' : ` --include=${quoted(include)}`;
  // 1 says that there is none
  return `grep -rnIZE${only} -e ${quoted(pattern)} ${operand(path)} || [ $? -eq 1 ]`;
}

export interface Match {
  readonly path: string;
  /** from 1 on */
  readonly line: number;
  readonly text: string;
}

const MAX_LINE_CHARACTERS = 400;

/** What `search` printed. The last line may be cut off, and names may hold line breaks: what does not look like a match is none. */
export function matchesIn(stdout: Uint8Array): Match[] {
  const lines = Buffer.from(stdout).toString().split('\n').slice(0, -1);
  return lines.flatMap((each) => {
    const [, path, line, text] = /^([^\0]+)\0(\d+):(.*)$/s.exec(each) ?? [];
    return path === undefined || text === undefined ? [] : [{ path, line: Number(line), text: text.slice(0, MAX_LINE_CHARACTERS) }];
  });
}

type Meaning = readonly [code: SandboxErrorCode, advice: string];

const failures: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [MISSING, ['no-such-file', 'there is no such file or directory; list_files shows what is there']],
  [NOT_EMPTY, ['wrong-kind', 'that is a directory with files in it; recursive=true removes them too']],
  [TAKEN, ['wrong-kind', 'its new place is taken; overwrite=true replaces what is there']],
]);

/** What mv and rm say for reasons that the kernel has no word for. */
const complaints: readonly (readonly [RegExp, ...Meaning])[] = [
  [/cannot overwrite|same file|to a subdirectory of itself/, 'wrong-kind', 'a file is where a directory should be, or the reverse'],
  [/resource busy/, 'denied', 'the sandbox may not touch that; use /workspace or /tmp'],
];

/** @throws SandboxError when the command did not do it */
export function requireDone({ exitCode, stderr, timedOut }: CommandResult, path: string): void {
  if (timedOut) throw new SandboxError('timeout', `${path}: it took longer than the timeout; try again with a longer one`);
  if (exitCode === 0) return;
  const said = Buffer.from(stderr).toString().trim().split('\n', 1)[0] ?? '';
  const errno = errnoIn(said);
  const own = failures.get(exitCode);
  if (own === undefined && errno !== undefined) throw sandboxErrorOf(new InsideFault(errno), path);
  const [code, advice] = own ?? meaningOf(said) ?? ['invalid', said === '' ? `it ended with exit code ${exitCode}` : said];
  throw new SandboxError(code, `${path}: ${advice}`);
}

function meaningOf(said: string): Meaning | undefined {
  const [, code, advice] = complaints.find(([words]) => words.test(said)) ?? [];
  return code === undefined || advice === undefined ? undefined : [code, advice];
}
