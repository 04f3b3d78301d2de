import type { FileAccess, FileEntry, FileListing } from '../backend.ts';
import { Bytes } from '../../../lib/bytes.ts';
import { errnoIn, InsideFault } from '../faults.ts';
import { RuntimeFault, type Runtime } from './runtime.ts';

const regular =
  'if [ -d "$1" ]; then echo is a directory >&2; exit 1; elif [ -e "$1" ] && [ ! -f "$1" ]; then echo not a regular file >&2; exit 1; fi';
const scripts = {
  // opened for both ways, a pipe lets go whoever waits at its other end
  read: `if [ -p "$1" ]; then exec 9<>"$1"; fi; ${regular}; exec head -c "$2" -- "$1"`,
  write: `${regular}; case $1 in */*) mkdir -p -- "\${1%/*}/" || exit 1 ;; esac; exec cat > "$1"`,
  list: `cd -- "$1" && exec find -L . -mindepth 1 -maxdepth 1 -printf '%y %s %T@ %f\\0'`,
  exists: `[ -e "$1" ]`,
} as const;

const MAX_COMPLAINT_BYTES = 4 * 1024;
const MAX_LISTING_BYTES = 8 * 1024 * 1024;
const LISTING_ENTRY = /^(\S) (\d{1,15}) (-?\d{1,12}(?:\.\d{1,12})?) (.+)$/s;

/**
 * Files by the sandbox's own programs (bash, coreutils, find): slower than the runtime's file service, but they reach every place and say
 * exactly what is wrong. Every method throws InsideFault, RuntimeFault.
 */
export class ShellFiles {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async read({ path, signal }: FileAccess, maxBytes: number): Promise<Uint8Array> {
    const content = await this.#run('read', [path, String(maxBytes + 1)], { signal, maxBytes: maxBytes + 1 });
    if (content.length > maxBytes) throw new InsideFault('EFBIG');
    return content;
  }

  async write({ path, signal }: FileAccess, input: Uint8Array): Promise<void> {
    await this.#run('write', [path], { signal, input, maxBytes: 0 });
  }

  async list({ path, signal }: FileAccess, maxEntries: number): Promise<FileListing> {
    const listed = await this.#run('list', [path], { signal, maxBytes: MAX_LISTING_BYTES });
    const entries = listed.toString('utf8').split('\0').filter(Boolean).map(entryOf);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { entries: entries.slice(0, maxEntries), total: entries.length };
  }

  async exists({ path, signal }: FileAccess): Promise<boolean> {
    const { code } = await this.#outcome('exists', [path], { signal, maxBytes: 0 });
    return code === 0;
  }

  async #run(script: keyof typeof scripts, args: readonly string[], options: ScriptOptions): Promise<Buffer> {
    const { code, stdout, complaint } = await this.#outcome(script, args, options);
    if (code !== 0) throw new InsideFault(errnoIn(complaint) ?? `EXIT${code}`);
    return stdout;
  }

  async #outcome(script: keyof typeof scripts, args: readonly string[], { signal, input, maxBytes }: ScriptOptions): Promise<Outcome> {
    const [stdout, stderr] = [new Bytes(), new Bytes()];
    const code = await this.#runtime.run({
      argv: ['env', 'LC_ALL=C', 'bash', '-c', scripts[script], 'toolyard', ...args],
      input: input ?? new Uint8Array(),
      signal,
      onOutput: (stream, bytes) => {
        if (stream === 'stderr') stderr.add(bytes.subarray(0, MAX_COMPLAINT_BYTES - stderr.length));
        else if (stdout.length + bytes.length <= maxBytes) stdout.add(bytes);
        else throw new RuntimeFault('protocol', 'a program in the sandbox answered with more than was asked for');
      },
    });
    return { code, stdout: stdout.all, complaint: stderr.all.toString('utf8') };
  }
}

interface ScriptOptions {
  readonly signal: AbortSignal;
  readonly input?: Uint8Array;
  readonly maxBytes: number;
}

interface Outcome {
  readonly code: number;
  readonly stdout: Buffer;
  readonly complaint: string;
}

function entryOf(line: string): FileEntry {
  const [, type, size, modifiedAt, name] = LISTING_ENTRY.exec(line) ?? [];
  if (name === undefined) throw new RuntimeFault('protocol', 'a program in the sandbox answered with a listing that is none');
  return { name, size: Number(size), type: type === 'd' ? 'directory' : 'file', modifiedAt: Number(modifiedAt) };
}
