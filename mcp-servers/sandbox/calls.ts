import { randomBytes } from 'node:crypto';
import { SandboxError, type Command, type CommandResult, type FileAccess, type Placement, type SandboxInfo } from './backend.ts';
import { decodeContent, encodeContent, printed } from './contents.ts';
import { matchesIn, move, newDirectory, removal, requireDone, search } from './file-commands.ts';
import type { Shown } from './products.ts';
import { runProgram } from './programs.ts';
import type { Sandboxes } from './sandboxes.ts';
import { commandIn, WORKSPACE } from './shell.ts';
import type { Input, Output } from './tools.ts';

/** Longest wait for a sandbox to start that a caller can ask for. */
const MAX_READY_SECONDS = 600;
/** The same for a sandbox that a caller did not ask for by itself. */
const FRESH_READY_SECONDS = 60;
/** A kernel takes no argument beyond 128 KiB, and the command is one. */
const MAX_COMMAND_BYTES = 120_000;
const FILES_UNKNOWN = 'which files it made is not known: list_files tells';

/** What becomes of a command while it runs. */
export type Watching = Pick<Command, 'signal' | 'onOutput'>;

/** What run_code gives, and the pictures and tables that it shows beside. */
interface CodeOutcome {
  readonly output: Output<'run_code'>;
  readonly content: readonly Shown[];
}

/** What the tools do, for one caller. Every method throws SandboxError for what a caller can act on. */
export class Calls {
  readonly #sandboxes: Sandboxes;
  readonly #placement: Placement;
  readonly #principal: string;

  constructor(sandboxes: Sandboxes, placement: Placement, principal: string) {
    this.#sandboxes = sandboxes;
    this.#placement = placement;
    this.#principal = principal;
  }

  async create(input: Input<'create_sandbox'>, signal: AbortSignal): Promise<Output<'create_sandbox'>> {
    const { handle, lifetime } = await this.#create(input, signal);
    return { sandbox_claim_name: handle, shutdown_time: new Date(lifetime.shutdownAt).toISOString() };
  }

  async delete({ sandbox_claim_name: name }: Input<'delete_sandbox'>): Promise<void> {
    await this.#sandboxes.delete(this.#principal, name);
  }

  async execute(input: Input<'execute_command'>, { signal, onOutput }: Watching): Promise<Output<'execute_command'>> {
    const { sandbox_claim_name: name, timeout, cwd, env, stdin } = input;
    const path = stdin === undefined ? undefined : `${WORKSPACE}/.stdin-${randomBytes(4).toString('hex')}`;
    const command = commandIn(input.command, { cwd, env, stdin: path });
    if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
      throw new SandboxError('too-large', `the command has more than ${MAX_COMMAND_BYTES} bytes; upload it as a file and run that`);
    }
    const { backend } = this.#sandboxes;
    const content = decodeContent(stdin ?? '', false, backend.describe().limits.fileBytes);
    const timeoutMs = timeout * 1000;
    await this.#sandboxes.use(this.#principal, name, timeoutMs);
    if (path !== undefined) await backend.writeFile(name, { path, timeoutMs, signal }, content);
    const result = await backend.execute(name, { command, timeoutMs, signal, onOutput });
    return this.#output(result, timeout);
  }

  async upload(input: Input<'upload_file'>, signal: AbortSignal): Promise<Output<'upload_file'>> {
    const bytes = decodeContent(input.content, input.binary, this.#sandboxes.backend.describe().limits.fileBytes);
    const access = await this.#file(input, signal);
    await this.#sandboxes.backend.writeFile(input.sandbox_claim_name, access, bytes);
    return { bytes_written: bytes.length };
  }

  async download(input: Input<'download_file'>, signal: AbortSignal): Promise<Output<'download_file'>> {
    const access = await this.#file(input, signal);
    const bytes = await this.#sandboxes.backend.readFile(input.sandbox_claim_name, access);
    return { content: encodeContent(bytes, input.binary, input.path), bytes_read: bytes.length };
  }

  async list(input: Input<'list_files'>, signal: AbortSignal): Promise<Output<'list_files'>> {
    const access = await this.#file(input, signal);
    const { entries, total } = await this.#sandboxes.backend.listFiles(input.sandbox_claim_name, access, input.max_entries);
    const listed = entries.map(({ name, size, type, modifiedAt }) => ({ name, size, type, mod_time: modifiedAt }));
    return { entries: listed, total_entries: total, truncated: total > listed.length };
  }

  async exists(input: Input<'file_exists'>, signal: AbortSignal): Promise<Output<'file_exists'>> {
    const access = await this.#file(input, signal);
    return { exists: await this.#sandboxes.backend.fileExists(input.sandbox_claim_name, access) };
  }

  async remove(input: Input<'delete_file'>, signal: AbortSignal): Promise<void> {
    await this.#inShell(input, removal(input.path, input.recursive), signal);
  }

  async move(input: Input<'move_file'>, signal: AbortSignal): Promise<void> {
    await this.#inShell(input, move(input.path, input.to, input.overwrite), signal);
  }

  async makeDirectory(input: Input<'make_directory'>, signal: AbortSignal): Promise<void> {
    await this.#inShell(input, newDirectory(input.path), signal);
  }

  async search(input: Input<'search_files'>, signal: AbortSignal): Promise<Output<'search_files'>> {
    const { stdout, dropped } = await this.#inShell(input, search(input), signal);
    const found = matchesIn(stdout);
    return { matches: found.slice(0, input.max_matches), truncated: found.length > input.max_matches || dropped.stdout > 0 };
  }

  async sandboxes(): Promise<Output<'list_sandboxes'>> {
    const sandboxes = await this.#sandboxes.list(this.#principal);
    return {
      sandboxes: sandboxes.map(({ handle, state, lifetime }) => ({
        sandbox_claim_name: handle,
        ready: state === 'ready',
        created_time: new Date(lifetime.createdAt).toISOString(),
        shutdown_time: new Date(lifetime.shutdownAt).toISOString(),
      })),
    };
  }

  async status({ sandbox_claim_name: name }: Input<'get_sandbox_status'>): Promise<Output<'get_sandbox_status'>> {
    const info = await this.#sandboxes.find(this.#principal, name);
    if (info === undefined) return { status: 'SandboxNotFound', ready: false, message: 'you have no sandbox of that name' };
    if (info.state === 'ended') return { status: 'SandboxNotFound', ready: false, message: info.message };
    const message = `${info.message}; it is removed at ${new Date(info.lifetime.shutdownAt).toISOString()} unless it is used before`;
    const ready = info.state === 'ready';
    return { status: ready ? 'SandboxReady' : 'SandboxNotReady', ready, message };
  }

  config(): Output<'get_sandbox_config'> {
    const { backend, limits } = this.#sandboxes;
    const { backend: name, isolation, languages, limits: resources, guarantees } = backend.describe();
    const readiness = backend.ready();
    return {
      backend: name,
      isolation,
      ready: readiness.ready,
      message: readiness.ready ? 'sandboxes can be made' : readiness.reason,
      languages: [...languages],
      limits: known({
        memory_bytes: resources.memoryBytes,
        disk_bytes: resources.diskBytes,
        processes: resources.processes,
        cpus: resources.cpus,
        output_bytes: resources.outputBytes,
        file_bytes: resources.fileBytes,
        command_seconds: 600,
        idle_seconds: limits.maxIdleMs / 1000,
        age_seconds: limits.maxAgeMs / 1000,
        sandboxes_per_caller: limits.perCaller,
        sandboxes_in_all: limits.inAll,
      }),
      guarantees: [...guarantees],
      placement: this.#placement,
      workspace: WORKSPACE,
    };
  }

  async runCode(input: Input<'run_code'>, watching: Watching): Promise<CodeOutcome> {
    const { language, code, timeout } = input;
    const { languages } = this.#sandboxes.backend.describe();
    // before it is ready the backend knows of no language; creating a sandbox waits for it or says why there is none
    if (languages.length > 0 && !languages.some(({ name }) => name === language)) {
      throw new SandboxError(
        'invalid',
        `${language} is not installed where sandboxes run; there is ${languages.map(({ name }) => name).join(', ')}`,
      );
    }
    const { backend } = this.#sandboxes;
    const program = { language, code, timeoutMs: timeout * 1000, ...watching };
    const run = await this.#inSandbox(input, watching.signal, (handle) => runProgram(backend, handle, program));
    const output = {
      ...this.#output(run.products === undefined ? noted(run.result, FILES_UNKNOWN) : run.result, timeout),
      duration_ms: Math.round(run.durationMs),
      files: [...(run.products ?? [])],
      isolation: backend.describe().isolation,
    };
    return { output, content: run.content };
  }

  async #inSandbox<T>(input: Input<'run_code'>, signal: AbortSignal, act: (handle: string) => Promise<T>): Promise<T> {
    const { sandbox_claim_name: name, timeout, namespace } = input;
    const wish = { shutdown_after_seconds: timeout, sandbox_ready_timeout: FRESH_READY_SECONDS, namespace };
    const handle = name ?? (await this.#create(wish, signal)).handle;
    try {
      await this.#sandboxes.use(this.#principal, handle, timeout * 1000);
      return await act(handle);
    } finally {
      // it may have ended by itself
      if (name === undefined) await this.#sandboxes.backend.delete(handle).catch(() => {});
    }
  }

  #output(result: CommandResult, timeoutSeconds: number): Output<'execute_command'> {
    const { outputBytes } = this.#sandboxes.backend.describe().limits;
    return { exit_code: result.exitCode, ...printed(result, { timeoutSeconds, outputBytes }), timed_out: result.timedOut };
  }

  #create(
    input: Pick<Input<'create_sandbox'>, 'namespace' | 'shutdown_after_seconds' | 'sandbox_ready_timeout'> &
      Partial<Input<'create_sandbox'>>,
    signal: AbortSignal,
  ): Promise<SandboxInfo> {
    const wish = {
      placement: { namespace: input.namespace ?? this.#placement.namespace, warmpool: input.warmpool ?? this.#placement.warmpool },
      idleSeconds: input.shutdown_after_seconds,
      readyTimeoutMs: Math.min(input.sandbox_ready_timeout, MAX_READY_SECONDS) * 1000,
      idempotencyKey: input.idempotency_key,
    };
    return this.#sandboxes.create(this.#principal, wish, signal);
  }

  /** @throws SandboxError when the shell could not do it */
  async #inShell(input: Input<'file_exists'>, line: string, signal: AbortSignal): Promise<CommandResult> {
    const command = commandIn(line, {});
    const { timeoutMs } = await this.#file(input, signal);
    const result = await this.#sandboxes.backend.execute(input.sandbox_claim_name, { command, timeoutMs, signal });
    requireDone(result, input.path);
    return result;
  }

  async #file({ sandbox_claim_name: name, path, timeout }: Input<'file_exists'>, signal: AbortSignal): Promise<FileAccess> {
    if (path.includes('\0')) throw new SandboxError('invalid', 'the path has a NUL character, which no path can hold; remove it');
    await this.#sandboxes.use(this.#principal, name, timeout * 1000);
    return { path, timeoutMs: timeout * 1000, signal };
  }
}

function noted(result: CommandResult, note: string): CommandResult {
  return { ...result, note: result.note === undefined ? note : `${result.note}; ${note}` };
}

/** Without what nobody knows. */
function known(limits: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(Object.entries(limits).filter((entry): entry is [string, number] => entry[1] !== undefined));
}
