/**
 * Runs inside a sandbox and does there what the server asks: one JSON object per line, requests on stdin, answers on stdout. It is handed to
 * the sandbox as one file of plain JavaScript (its types stripped), so it imports nothing of this project but types. The server trusts
 * nothing it says: a guest may well have taken it over.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
  type OpenDirOptions,
  type Stats,
} from 'node:fs';
import { access, mkdir, open, opendir, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { constants as os } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate as lookedAround, setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** What the server may ask for. `id` is chosen by the server and repeated in every answer. */
export type AgentRequest =
  | { readonly id: number; readonly do: 'run'; readonly command: string; readonly outputBytes: number }
  | { readonly id: number; readonly do: 'stop' }
  | { readonly id: number; readonly do: 'write'; readonly path: string; readonly content: string }
  | { readonly id: number; readonly do: 'read'; readonly path: string; readonly maxBytes: number }
  | { readonly id: number; readonly do: 'list'; readonly path: string; readonly maxEntries: number }
  | { readonly id: number; readonly do: 'exists'; readonly path: string };

/** `prefix` is put before every command: it gives each one a process tree of its own, which ends with it. */
interface Settings {
  readonly prefix: readonly string[];
}

const settings = JSON.parse(process.argv[2] ?? '{}') as Settings;
const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
const home = process.cwd();
const running = new Map<number, ChildProcess>();
/** told to stop before they had started */
const stopped = new Set<number>();
const OUTPUT_GRACE_MS = 100;
const OUTPUT_GRACE_ROUNDS = 10;
/** the same on every architecture that Node runs on (asm-generic/fcntl.h) */
const O_CLOEXEC = 0o2000000;

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Both ends of one, already without a name. The write end goes to a command and is closed here: its end is then the end of the command's. */
interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

const PIPES_AT_ONCE = 32;
const spares: Pipe[] = [];
let refilling: Promise<void> | undefined;

/**
 * Two pipes. Those that Node would make are sockets, and no program can open /dev/stdout or /dev/stderr on a socket. Undefined where there is
 * no room for more, and sockets have to do.
 */
async function takePipes(): Promise<readonly [Pipe, Pipe] | undefined> {
  if (spares.length < 2) await refill();
  return spares.length < 2 ? undefined : (spares.splice(-2) as [Pipe, Pipe]);
}

function refill(): Promise<void> {
  return (refilling ??= makePipes().finally(() => (refilling = undefined)));
}

/** Node can make none that have no name; many at once, since a program has to be run for it. */
async function makePipes(): Promise<void> {
  // node:crypto would cost each start 3 ms; a name that a guest comes to know or to block harms its own sandbox alone
  const paths = Array.from({ length: PIPES_AT_ONCE }, () => `/dev/shm/.pipe-${Math.random().toString(36).slice(2)}`);
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    for (const path of paths) {
      const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      // by number: a guest that put another pipe in this one's place would let the opening wait for ever
      spares.push({ readEnd, writeEnd: openSync(`/proc/self/fd/${readEnd}`, constants.O_WRONLY) });
      unlinkSync(path);
    }
  } catch {
    // out of processes or files: whoever wants pipes goes without
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly exit: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  /** stdout and stderr, whatever carries them; without files to spare not even those */
  readonly streams: readonly (Readable | null | undefined)[];
}

function argvOf(command: string): readonly string[] {
  return [...settings.prefix, shell, '-c', command];
}

async function start(command: string): Promise<Started> {
  const [program = shell, ...args] = argvOf(command);
  const pipes = await takePipes();
  const ends = pipes?.map(({ writeEnd }) => writeEnd) ?? (['pipe', 'pipe'] as const);
  // out of memory, the kernel is to take a command and not this program; children inherit the mark
  markForOutOfMemory('1000');
  try {
    const child = spawn(program, args, { cwd: home, stdio: ['ignore', ...ends] });
    const streams = pipes?.map(({ readEnd: fd }) => new Socket({ fd, readable: true, writable: false })) ?? [child.stdout, child.stderr];
    return { child, exit: once(child, 'exit') as Started['exit'], streams };
  } finally {
    markForOutOfMemory('0');
    pipes?.forEach(({ writeEnd }) => closeSync(writeEnd));
  }
}

/** The last bytes of a stream whose beginning was passed on already, and how many were between. */
class End {
  readonly #room: number;
  bytes = Buffer.alloc(0);
  dropped = 0;

  constructor(room: number) {
    this.#room = room;
  }

  add(chunk: Buffer): void {
    const all = Buffer.concat([this.bytes, chunk]);
    this.bytes = all.subarray(Math.max(0, all.length - this.#room));
    this.dropped += all.length - this.bytes.length;
  }
}

async function run({ id, command, outputBytes }: Extract<AgentRequest, { do: 'run' }>): Promise<void> {
  const { child, exit, streams } = await start(command);
  running.set(id, child);
  if (stopped.delete(id)) stop(id);
  const ends = { stdout: new End(Math.floor(outputBytes / 2)), stderr: new End(Math.floor(outputBytes / 2)) };
  let received = 0;
  for (const [index, stream] of (['stdout', 'stderr'] as const).entries()) {
    let room = Math.ceil(outputBytes / 2);
    streams[index]?.on('data', (chunk: Buffer) => {
      received += chunk.length;
      const kept = chunk.subarray(0, room);
      room -= kept.length;
      ends[stream].add(chunk.subarray(kept.length));
      if (kept.length > 0) answer({ id, stream, data: kept.toString('base64') });
    });
  }
  try {
    const [code, signal] = await exit;
    killOrphans();
    await flushed(streams, () => received);
    for (const stream of ['stdout', 'stderr'] as const) {
      const { bytes } = ends[stream];
      if (bytes.length > 0) answer({ id, stream, data: bytes.toString('base64') });
    }
    const dropped = { stdout: ends.stdout.dropped, stderr: ends.stderr.dropped };
    answer({ id, end: { exitCode: code ?? 128 + (signal === null ? 0 : os.signals[signal]), dropped } });
  } finally {
    running.delete(id);
    for (const stream of streams) stream?.destroy();
  }
}

function stop(id: number): void {
  const child = running.get(id);
  if (child === undefined) stopped.add(id);
  else child.kill('SIGKILL');
}

/**
 * All is read; or something that outlived the command holds a pipe open, and for a while nothing came. On a busy machine that while may be
 * over before this program has looked: so what counts is that it has looked since.
 */
async function flushed(streams: Started['streams'], received: () => number): Promise<void> {
  const open = streams.filter((stream) => stream?.closed === false);
  const ends = Promise.all(open.map((stream) => new Promise((done) => stream?.once('close', done))));
  for (let seen = -1, round = 0; seen !== received() && round < OUTPUT_GRACE_ROUNDS; round += 1) {
    seen = received();
    await Promise.race([ends, delay(OUTPUT_GRACE_MS)]);
    await lookedAround();
  }
}

/**
 * A command's tree dies with its root, unless the guest has freed the init of its process namespace from that (ptrace, prctl). Then that
 * one has the same parent as this program now; nothing else ever has.
 */
function killOrphans(): void {
  // run by hand, outside of a sandbox, this must end nobody's programs
  if (process.ppid !== 1) return;
  const siblings = childrenOfInit();
  // gVisor lists threads too
  const own = new Set(readdirSync('/proc/self/task'));
  for (const pid of siblings) if (!own.has(pid)) killIfThere(Number(pid));
}

function childrenOfInit(): string[] {
  const listed = readIfThere('/proc/1/task/1/children');
  // gVisor lists one that is just ending as 0, which to a signal means the sender's own process group
  if (listed !== undefined) return listed.split(' ').filter((pid) => Number(pid) > 0);
  // a kernel without CONFIG_PROC_CHILDREN; the fields of stat follow the name, which is in brackets and may hold anything
  const parentOf = (pid: string) => readIfThere(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ')[1];
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === '1');
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it was faster
  }
}

function markForOutOfMemory(score: string): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', score);
  } catch {
    // gVisor has no such file; its memory limit is met in another way
  }
}

async function write({ id, path, content }: Extract<AgentRequest, { do: 'write' }>): Promise<void> {
  const target = resolve(home, path);
  await mkdir(dirname(target), { recursive: true });
  // never waits for the other end of a named pipe
  const file = await open(target, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK, 0o644);
  try {
    if (!(await file.stat()).isFile()) throw fault('ENOTFILE');
    await file.truncate();
    await file.writeFile(Buffer.from(content, 'base64'));
  } finally {
    await file.close();
  }
  answer({ id, end: {} });
}

async function read({ id, path, maxBytes }: Extract<AgentRequest, { do: 'read' }>): Promise<void> {
  const file = await open(resolve(home, path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (found.isDirectory()) throw fault('EISDIR');
    if (!found.isFile()) throw fault('ENOTFILE');
    if (found.size > maxBytes) throw fault('EFBIG');
    // files of /proc say 0 and have content, and a guest may let a file grow meanwhile: what counts is what is read
    const room = Buffer.alloc(maxBytes + 1);
    let size = 0;
    for (let got = -1; got !== 0 && size < room.length; size += got)
      got = (await file.read(room, size, room.length - size, null)).bytesRead;
    if (size > maxBytes) throw fault('EFBIG');
    answer({ id, end: { content: room.toString('base64', 0, size) } });
  } finally {
    await file.close();
  }
}

async function list({ id, path, maxEntries }: Extract<AgentRequest, { do: 'list' }>): Promise<void> {
  const directory = resolve(home, path);
  // names are bytes: those that are no UTF-8 can be listed too, with replacement characters
  const names: Buffer[] = [];
  let total = 0;
  for await (const entry of await openNames(directory)) {
    total += 1;
    // the first ones by name, of however many there are
    if (names.push(entry.name) >= 2 * maxEntries) names.sort(byBytes).splice(maxEntries);
  }
  const entries = [];
  for (const name of names.sort(byBytes).slice(0, maxEntries)) {
    const entry = Buffer.concat([Buffer.from(`${directory}/`), name]);
    const found = await stat(entry).catch(() => statOfLink(entry));
    if (found === undefined) continue;
    const type = found.isDirectory() ? 'directory' : 'file';
    entries.push({ name: name.toString(), size: found.size, type, modifiedAt: found.mtimeMs / 1000 });
  }
  answer({ id, end: { entries, total } });
}

function byBytes(a: Buffer, b: Buffer): number {
  return a.compare(b);
}

/** Node's own type does not know that this gives names as bytes. */
async function openNames(directory: string): Promise<AsyncIterable<{ readonly name: Buffer }>> {
  const options = { encoding: 'buffer', bufferSize: 1024 } as unknown as OpenDirOptions;
  return (await opendir(directory, options)) as unknown as AsyncIterable<{ readonly name: Buffer }>;
}

/** A dangling link is listed as itself; what has gone meanwhile is not listed. */
function statOfLink(path: Buffer): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

async function exists({ id, path }: Extract<AgentRequest, { do: 'exists' }>): Promise<void> {
  const found = await access(resolve(home, path)).then(
    () => true,
    () => false,
  );
  answer({ id, end: { exists: found } });
}

function fault(code: string): Error {
  return Object.assign(new Error(code), { code });
}

async function serve(request: AgentRequest): Promise<void> {
  switch (request.do) {
    case 'run':
      return run(request);
    case 'stop':
      return stop(request.id);
    case 'write':
      return write(request);
    case 'read':
      return read(request);
    case 'list':
      return list(request);
    case 'exists':
      return exists(request);
  }
}

async function handle(request: AgentRequest): Promise<void> {
  try {
    await serve(request);
  } catch (error) {
    const { code = 'EIO' } = error as NodeJS.ErrnoException;
    answer({ id: request.id, error: code });
  }
}

/** What the server's own parent left open and unmarked would otherwise be inherited by every command. */
function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const flags = readIfThere(`/proc/self/fdinfo/${name}`)?.match(/^flags:\s*([0-7]+)/m)?.[1];
    if (Number(name) > 2 && flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0) closeSync(Number(name));
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

closeInherited();
let rest: Buffer[] = [];
process.stdin.on('data', (chunk: Buffer) => {
  for (let start = 0; ;) {
    const newline = chunk.indexOf(10, start);
    rest.push(chunk.subarray(start, newline === -1 ? undefined : newline));
    if (newline === -1) return;
    void handle(JSON.parse(Buffer.concat(rest).toString()) as AgentRequest);
    rest = [];
    start = newline + 1;
  }
});
// the server is gone: so is this sandbox
process.stdin.once('close', () => process.exit(0));
// starts the threads that access to files needs: without room for processes later on they could not be, and Node would abort
void access(home);
answer({ hello: true });
void refill();
