import { posix } from 'node:path';
import { SandboxError, type FileAccess, type FileListing } from '../backend.ts';
import { errnoIn, InsideFault, sandboxErrorOf } from '../faults.ts';
import { WORKSPACE } from '../shell.ts';
import { RuntimeFault, type Runtime } from './runtime.ts';
import { ShellFiles } from './shell-files.ts';

/** Absolute, without `.` and `..`, the way every backend takes a path. */
export function placeOf(path: string): { readonly path: string; readonly inWorkspace: boolean } {
  const absolute = posix.resolve(WORKSPACE, path);
  return { path: absolute, inWorkspace: absolute === WORKSPACE || absolute.startsWith(`${WORKSPACE}/`) };
}

/**
 * The files of one sandbox. Those below the workspace go by the runtime's file service, which is fast and needs no process. It reaches
 * nothing else and does not always say what is wrong: then the sandbox's own programs are asked. Nothing is written twice: a refused
 * upload has left nothing.
 *
 * Every method throws SandboxError for what a caller can act on, RuntimeFault for what happened to the runtime.
 */
export class SandboxFiles {
  readonly #runtime: Runtime;
  readonly #shell: ShellFiles;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#shell = new ShellFiles(runtime);
  }

  async read(access: FileAccess, maxBytes: number): Promise<Uint8Array> {
    const content = await this.#through(
      access,
      (call) => this.#runtime.readFile(call, maxBytes),
      (call) => this.#shell.read(call, maxBytes),
    );
    if (content === undefined) throw sandboxErrorOf(new InsideFault('EISDIR'), access.path);
    if (content.length > maxBytes) throw sandboxErrorOf(new InsideFault('EFBIG'), access.path);
    return content;
  }

  async write(access: FileAccess, content: Uint8Array): Promise<void> {
    await this.#through(
      access,
      (call) => this.#runtime.writeFile(call, content),
      (call) => this.#shell.write(call, content),
    );
  }

  async list(access: FileAccess, maxEntries: number): Promise<FileListing> {
    const listing = await this.#through(
      access,
      (call) => this.#runtime.listFiles(call, maxEntries),
      (call) => this.#shell.list(call, maxEntries),
    );
    if (listing === undefined) throw sandboxErrorOf(new InsideFault('ENOTDIR'), access.path);
    return listing;
  }

  exists(access: FileAccess): Promise<boolean> {
    return this.#through(
      access,
      (call) => this.#runtime.fileExists(call),
      (call) => this.#shell.exists(call),
    );
  }

  async #through<T>(access: FileAccess, service: (call: FileAccess) => Promise<T>, programs: (call: FileAccess) => Promise<T>): Promise<T> {
    const { path, inWorkspace } = placeOf(access.path);
    const call = { ...access, path };
    try {
      if (!inWorkspace) return await programs(call);
      return await service(call).catch((error: unknown) => {
        if (unclear(error)) return programs(call);
        throw error;
      });
    } catch (error) {
      throw meaningOf(error, access.path);
    }
  }
}

/** The file service said no in a way that does not tell why, or the path leads out of what it serves. */
function unclear(error: unknown): boolean {
  if (!(error instanceof RuntimeFault) || error.code !== 'answered') return false;
  return error.status !== 404 && error.status !== 413 && errnoIn(error.message) === undefined;
}

function meaningOf(error: unknown, path: string): unknown {
  if (error instanceof InsideFault) return sandboxErrorOf(error, path);
  if (!(error instanceof RuntimeFault) || error.code !== 'answered') return error;
  const errno = error.status === 404 ? 'ENOENT' : errnoIn(error.message);
  if (errno !== undefined) return sandboxErrorOf(new InsideFault(errno), path);
  if (error.status === 413)
    return new SandboxError('too-large', `${path}: ${error.message}; use execute_command, for example ls | head`, { cause: error });
  return new SandboxError('failed', `${path}: the sandbox could not do that (${error.message}); try again, or create another`, {
    cause: error,
  });
}
