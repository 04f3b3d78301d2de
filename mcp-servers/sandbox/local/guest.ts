import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { Bytes } from '../../../lib/bytes.ts';
import { parseJson } from '../../../lib/json.ts';
import { InsideFault } from '../faults.ts';
import type { AgentRequest } from './agent.ts';
import { answerSchema, endSchemas, helloSchema, type Answer, type Ends } from './answers.ts';
import type { Launch } from './isolation.ts';

/** The sandbox itself is over. The message says why, as far as it is known. */
export class GuestGone extends Error {
  override readonly name = 'GuestGone';
}

/** One request under way. */
export interface Exchange<T> {
  readonly id: number;
  readonly end: Promise<T>;
}

type Kind = keyof Ends;
type RequestOf<K extends Kind> = Omit<Extract<AgentRequest, { do: K }>, 'id' | 'do'>;

interface Pending {
  readonly kind: Kind;
  readonly onOutput: (stream: 'stdout' | 'stderr', data: Buffer) => void;
  readonly resolve: (end: never) => void;
  readonly reject: (error: Error) => void;
}

/** Answers carry at most a listing, or a file in base64. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_COMPLAINT_BYTES = 4 * 1024;
/** 128 and the number of SIGKILL */
const EXIT_CODE_KILLED = 137;
const NO_PROTOCOL = 'its agent no longer speaks the protocol';

type GuestProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** One running sandbox: its process on the host, and the conversation with the agent inside. */
export class Guest {
  readonly #child: GuestProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<string>();
  #greeted = false;
  #lastId = 0;
  #line = new Bytes();
  #complaint = '';
  #ending: string | undefined;
  #over = false;

  constructor({ argv, files }: Launch) {
    const [program = '', ...args] = argv;
    const opened = files.map((path) => openSync(path, 'r'));
    try {
      this.#child = spawn(program, args, {
        stdio: ['pipe', 'pipe', 'pipe', ...opened],
        // nothing of the server's: a guest can read what its sandbox's first process was given
        env: {},
        cwd: '/',
        // a Ctrl-C on the terminal is for the server, which then ends its sandboxes in order
        detached: true,
      }) as GuestProcess;
    } finally {
      opened.forEach(closeSync);
    }
    this.#ready.promise.catch(() => {});
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#complaint = (this.#complaint + chunk.toString()).slice(-MAX_COMPLAINT_BYTES)));
    this.#child.once('error', (error) => this.#ended(error.message));
    this.#child.once('exit', (code, signal) => this.#ended(this.#ending ?? howItEnded(code, signal)));
  }

  /** On the host; undefined when the program could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What the programs that hold it wrote to their standard error, at most 4 KiB: for whoever runs the server, not for callers. */
  get complaint(): string {
    return this.#complaint.trim();
  }

  /** Resolves when commands can run. @throws GuestGone */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Requests that the agent has not answered yet, also those whose answer nobody waits for any more. */
  get requests(): number {
    return this.#pending.size;
  }

  /** Resolves when its process is gone, with the reason. */
  get gone(): Promise<string> {
    return this.#gone.promise;
  }

  /** Sends one request. `id` identifies a run to `stop`. @throws InsideFault, GuestGone */
  ask<K extends Kind>(kind: K, request: RequestOf<K>, onOutput: Pending['onOutput'] = () => {}): Exchange<Ends[K]> {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Ends[K]>();
    if (this.#over) reject(new GuestGone('it is gone'));
    else {
      this.#pending.set(id, { kind, onOutput, resolve, reject });
      this.#send({ id, do: kind, ...request } as unknown as AgentRequest);
    }
    return { id, end: promise };
  }

  /** Kills a command and everything it started. */
  stop(id: number): void {
    if (this.#pending.has(id)) this.#send({ id, do: 'stop' });
  }

  /** Ends the sandbox at once; `why` is what callers of requests in flight are told. */
  kill(why: string): void {
    this.#ending ??= why;
    this.#child.kill('SIGKILL');
  }

  #send(request: AgentRequest): void {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  #ended(why: string): void {
    if (this.#over) return;
    this.#over = true;
    const gone = new GuestGone(why);
    this.#ready.reject(gone);
    for (const { reject } of this.#pending.values()) reject(gone);
    this.#pending.clear();
    // something that the kernel has not ended yet may hold these open
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    this.#gone.resolve(why);
  }

  #read(chunk: Buffer): void {
    for (let start = 0; start < chunk.length && this.#ending === undefined;) {
      const newline = chunk.indexOf(10, start);
      this.#line.add(chunk.subarray(start, newline === -1 ? undefined : newline));
      if (this.#line.length > MAX_LINE_BYTES) return this.kill('its agent answered with more than was asked for');
      if (newline === -1) return;
      this.#understand(this.#line.all.toString());
      this.#line = new Bytes();
      start = newline + 1;
    }
  }

  #understand(line: string): void {
    const said = parseJson(line);
    if (!this.#greeted && helloSchema.safeParse(said).success) {
      this.#greeted = true;
      this.#ready.resolve();
      return;
    }
    const answer = answerSchema.safeParse(said);
    if (!answer.success || !this.#greeted) return this.kill(NO_PROTOCOL);
    this.#take(answer.data);
  }

  #take(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return this.kill('its agent answered what nobody had asked');
    if ('stream' in answer) return pending.onOutput(answer.stream, Buffer.from(answer.data, 'base64'));
    this.#pending.delete(answer.id);
    if ('error' in answer) return pending.reject(new InsideFault(answer.error));
    const end = endSchemas[pending.kind].safeParse(answer.end);
    if (end.success) return pending.resolve(end.data as never);
    pending.reject(new GuestGone(NO_PROTOCOL));
    this.kill(NO_PROTOCOL);
  }
}

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGKILL' || code === EXIT_CODE_KILLED) return 'it was killed, most likely because it used up its memory';
  return `it ended by itself (${signal ?? `exit code ${code}`})`;
}
