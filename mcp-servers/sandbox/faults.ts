import { SandboxError, type SandboxErrorCode } from './backend.ts';

type Meaning = readonly [code: SandboxErrorCode, advice: string];

/** What errno names from inside a sandbox mean to a caller, and what to do about them: whatever was asked for. */
const limits: ReadonlyMap<string, Meaning> = new Map(
  Object.entries<Meaning>({
    EAGAIN: [
      'busy',
      "no process can be started: the sandbox's process limit is used up by commands that still run; wait, or delete the sandbox",
    ],
    ENOMEM: ['busy', "the sandbox's memory is used up; remove files from it, wait for commands that still run, or delete it"],
    EMFILE: ['busy', 'too much is going on in the sandbox at once; try again when other calls have ended'],
  }),
);

/** The same where a file was asked for. */
const meanings: ReadonlyMap<string, Meaning> = new Map(
  Object.entries<Meaning>({
    ENOENT: ['no-such-file', 'there is no such file or directory; list_files shows what is there'],
    EISDIR: ['wrong-kind', 'that is a directory; list_files lists it'],
    ENOTDIR: ['wrong-kind', 'that, or a part of the path, is not a directory'],
    ENOTFILE: ['wrong-kind', 'that is not a regular file'],
    ENXIO: ['wrong-kind', 'that is not a regular file'],
    ELOOP: ['wrong-kind', 'that is a symbolic link that leads in a circle'],
    EACCES: ['denied', 'the sandbox may not touch that; use /workspace or /tmp'],
    EPERM: ['denied', 'the sandbox may not touch that; use /workspace or /tmp'],
    EROFS: ['denied', 'that place is read-only; use /workspace or /tmp'],
    ENOSPC: ['disk-full', 'no room is left there; remove files with execute_command'],
    EDQUOT: ['disk-full', 'no room is left there; remove files with execute_command'],
    EFBIG: ['too-large', 'the file is larger than may be passed; take it in parts (head -c, split)'],
    ENAMETOOLONG: ['invalid', 'the path is too long'],
  }),
);

/** What a sandbox, or a program in it, answers with instead of doing what it was asked. */
export class InsideFault extends Error {
  override readonly name = 'InsideFault';
  /** errno name, or EFBIG, ENOTFILE of ours */
  readonly code: string;

  constructor(code: string) {
    super(`the sandbox answered ${code}`);
    this.code = code;
  }
}

/** The kernel's words, as C programs and Go programs say them. */
const errnos: readonly (readonly [words: RegExp, errno: string])[] = [
  [/no such file or directory/i, 'ENOENT'],
  [/not a directory|file exists/i, 'ENOTDIR'],
  [/is a directory/i, 'EISDIR'],
  [/not a regular file/i, 'ENOTFILE'],
  [/too many levels of symbolic links/i, 'ELOOP'],
  [/permission denied|operation not permitted/i, 'EACCES'],
  [/read-only file system/i, 'EROFS'],
  [/no space left on device|disk quota exceeded/i, 'ENOSPC'],
  [/file name too long/i, 'ENAMETOOLONG'],
  [/resource temporarily unavailable|cannot fork/i, 'EAGAIN'],
  [/cannot allocate memory/i, 'ENOMEM'],
];

/** The errno name that a program's complaint means, if any. */
export function errnoIn(text: string): string | undefined {
  return errnos.find(([words]) => words.test(text))?.[1];
}

/** @param path what was asked for; undefined for a command, which did not even start */
export function sandboxErrorOf(fault: InsideFault, path: string | undefined): SandboxError {
  const known = limits.get(fault.code) ?? (path === undefined ? undefined : meanings.get(fault.code));
  const [code, advice] = known ?? ['failed', `the sandbox could not do that (${fault.code}); delete it and create another if this goes on`];
  return new SandboxError(code, `${path ?? 'the command'}: ${advice}`, { cause: fault });
}
