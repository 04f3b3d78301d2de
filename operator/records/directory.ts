import { constants } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import { z } from 'zod';
import { anythingButLinkLocal, type AddressPolicy } from '../../lib/address-guard/policy.ts';
import type { Log } from '../../lib/log.ts';
import type { Found, RawDeclaration } from './declaration.ts';
import { MAX_DOCUMENT_BYTES, parse, unusable } from './document.ts';
import type { Credentials } from './probe.ts';
import type { Network, NoCredentials, Snapshot, Source } from './source.ts';

export interface DirectoryOptions {
  /** holds `<any>/server.json` and, beside it, `toolyard.json` */
  readonly directory: string;
  /** holds `<name>.json` with `authorization` and `origin`, for probes */
  readonly credentials?: string;
  /** what may be dialled besides everything that is not link-local: addresses, blocks, host names */
  readonly allow?: readonly string[];
  readonly log: Log;
}

/** Files are read this long after an event, so that a copied directory is read once. */
const SETTLE_MS = 20;
/** A file that is no JSON and younger than this is probably still being written; but not for ever, whatever its times say. */
const WRITING_MS = 200;
const LONGEST_WRITING_MS = 2_000;
/** Everything is looked at again this often: network file systems send no events. */
const REREAD_MS = 5_000;

/** A pipe must not make the operator wait for a writer. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;
/** These say something about this machine, not about the file. */
const OUR_TROUBLE: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'ESTALE', 'EAGAIN', 'EINTR']);
/** Paths that are named when many cannot be read. */
const MOST_NAMED = 5;

/** Directories read together: enough to keep the disk busy, few enough for any limit of open files. */
const READ_AT_A_TIME = 32;

/** All declarations of a directory are one namespace. */
const NAMESPACE = 'directory';

const credentialsFile = z.object({ authorization: z.string().min(1), origin: z.url({ protocol: /^https?$/ }) });

/** A file as it was read last, and how it looked then. */
interface Remembered {
  readonly look: string;
  readonly found: Found;
  readonly createdAt: number;
}

/** Declarations in `<directory>/<any>/server.json`. */
export class DirectorySource implements Source {
  readonly installNamespace = NAMESPACE;
  readonly #options: DirectoryOptions;
  readonly #policy: AddressPolicy;
  readonly #files = new Map<string, Remembered>();
  /** since when files look as if they were being written, ms */
  readonly #writtenSince = new Map<string, number>();
  #last: Snapshot | undefined;
  #watcher: FSWatcher | undefined;
  #changed: (snapshot: Snapshot) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#policy = anythingButLinkLocal({ allow: options.allow ?? [] });
  }

  async start(changed: (snapshot: Snapshot) => void): Promise<void> {
    this.#changed = changed;
    // Two levels are all that is read; a link is followed, as a mounted ConfigMap is made of links.
    this.#watcher = watch(this.#options.directory, { ignoreInitial: true, depth: 1, atomic: false, ignorePermissionErrors: true });
    this.#watcher.on('all', () => this.#schedule(SETTLE_MS));
    // what came between the first reading and the first event is told by none
    this.#watcher.on('ready', () => this.#schedule(0));
    this.#watcher.on('error', (error) =>
      this.#options.log.warn({ err: error }, 'no events for a part of the directory; it is re-read anyway'),
    );
    await this.#read();
  }

  namespaceOf(): string {
    return NAMESPACE;
  }

  network(): Network {
    return { policy: this.#policy };
  }

  async credentials({ name }: { name: string }): Promise<Credentials | NoCredentials> {
    const { credentials: directory, log } = this.#options;
    if (directory === undefined) return 'missing';
    try {
      const { authorization, origin } = credentialsFile.parse(await readJson(join(directory, `${name}.json`)));
      return { authorization, origin: new URL(origin).origin };
    } catch {
      // the error may quote the file
      log.warn({ name }, 'credentials for a probe cannot be read: a JSON file with authorization and origin is needed');
      return 'missing';
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#watcher?.close();
    await this.#reading;
  }

  #schedule(delayMs: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), delayMs);
    this.#timer.unref();
  }

  /** One reading at a time, so that snapshots come in the order in which they were taken. */
  #read(): Promise<void> {
    this.#reading = this.#readAfter(this.#reading);
    return this.#reading;
  }

  async #readAfter(previous: Promise<void>): Promise<void> {
    await previous;
    if (this.#closed) return;
    this.#schedule(REREAD_MS);
    try {
      const snapshot = await this.#snapshot();
      if (this.#closed || isSame(snapshot, this.#last)) return;
      this.#last = snapshot;
      this.#changed(snapshot);
    } catch (error) {
      this.#options.log.error({ err: error }, 'reading the declarations broke; they are read again');
    }
  }

  async #snapshot(): Promise<Snapshot> {
    const { directory } = this.#options;
    let entries: string[];
    try {
      entries = await readdir(directory);
    } catch (error) {
      const incomplete = `${directory} cannot be read (${codeOf(error)}): until it can, nothing is withdrawn`;
      return { declarations: this.#last?.declarations ?? [], incomplete };
    }
    const unfinished: string[] = [];
    const declarations: RawDeclaration[] = [];
    this.#forgetOthers(new Set(entries));
    const before = new Map(this.#last?.declarations.map((declaration) => [declaration.source, declaration]));
    const visible = entries.filter((name) => !name.startsWith('.')).toSorted(compareText);
    for (let from = 0; from < visible.length; from += READ_AT_A_TIME) {
      const some = visible.slice(from, from + READ_AT_A_TIME).map((entry) => this.#declaration(entry, before, unfinished));
      for (const declaration of await Promise.all(some)) if (declaration !== undefined) declarations.push(declaration);
    }
    if (unfinished.length === 0) return { declarations };
    this.#schedule(WRITING_MS);
    const named = unfinished.slice(0, MOST_NAMED).join(', ');
    const more = unfinished.length > MOST_NAMED ? ` and ${unfinished.length - MOST_NAMED} more` : '';
    return { declarations, incomplete: `not readable at the moment: ${named}${more}; until they are, nothing is withdrawn` };
  }

  /** What was in a directory that vanished says nothing about a new one of its name. */
  #forgetOthers(entries: ReadonlySet<string>): void {
    for (const path of [...this.#files.keys(), ...this.#writtenSince.keys()]) {
      if (entries.has(basename(dirname(path)))) continue;
      this.#files.delete(path);
      this.#writtenSince.delete(path);
    }
  }

  async #declaration(
    entry: string,
    before: ReadonlyMap<string, RawDeclaration>,
    unfinished: string[],
  ): Promise<RawDeclaration | undefined> {
    const { directory } = this.#options;
    const source = `${basename(directory)}/${entry}/server.json`;
    const document = await this.#file(join(directory, entry, 'server.json'), unfinished);
    if (document === undefined) return undefined;
    const settings = (await this.#file(join(directory, entry, 'toolyard.json'), unfinished)) ?? { found: NO_SETTINGS };
    const last = before.get(source);
    const same = last?.document === document.found && last.settings === settings.found;
    return same
      ? last
      : { source, namespace: NAMESPACE, createdAt: document.createdAt, document: document.found, settings: settings.found };
  }

  /** @returns undefined when there is no such file */
  async #file(path: string, unfinished: string[]): Promise<Omit<Remembered, 'look'> | undefined> {
    const known = this.#files.get(path);
    let file: FileHandle | undefined;
    try {
      file = await open(path, READING);
      const { young, ...read } = await readHandle(file, known);
      if (young && this.#isBeingWritten(path)) {
        unfinished.push(path);
        return known;
      }
      if (!young) this.#writtenSince.delete(path);
      this.#files.set(path, read);
      return read;
    } catch (error) {
      return this.#unread(path, codeOf(error), unfinished);
    } finally {
      await file?.close();
    }
  }

  #unread(path: string, code: string, unfinished: string[]): Omit<Remembered, 'look'> | undefined {
    const known = this.#files.get(path);
    if (OUR_TROUBLE.has(code)) {
      unfinished.push(path);
      return known;
    }
    // the same object for the same fault: it is no change
    if (known?.look === code) return known;
    this.#files.delete(path);
    this.#writtenSince.delete(path);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const found = unusable('Unreadable', `it cannot be read (${code}): check its permissions`);
    const remembered = { look: code, found, createdAt: known?.createdAt ?? 0 };
    this.#files.set(path, remembered);
    return remembered;
  }

  /** A file that stays broken is a broken file, even when it is written again and again: others must not wait for it. */
  #isBeingWritten(path: string): boolean {
    const now = performance.now();
    const since = this.#writtenSince.get(path) ?? now;
    this.#writtenSince.set(path, since);
    return now - since < LONGEST_WRITING_MS;
  }
}

const NO_SETTINGS: Found = { value: {} };

/** Reads a file unless it looks as before. A broken one that is `young` may still be being written. */
async function readHandle(file: FileHandle, known: Remembered | undefined): Promise<Remembered & { readonly young: boolean }> {
  const stats = await file.stat();
  const { size, mtimeMs, ctimeMs, birthtimeMs, ino, dev } = stats;
  const look = [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  if (known?.look === look) return { ...known, young: false };
  const createdAt = birthtimeMs > 0 ? birthtimeMs : mtimeMs;
  if (!stats.isFile()) return { look, createdAt, young: false, found: unusable('Unreadable', 'it is not a regular file') };
  if (size > MAX_DOCUMENT_BYTES) {
    const message = `it has ${size} bytes; a registry takes at most ${MAX_DOCUMENT_BYTES}: is it the right file?`;
    return { look, createdAt, young: false, found: unusable('TooLarge', message) };
  }
  const found = parse(await readBounded(file));
  const broken = 'unusable' in found && found.unusable === 'InvalidJson';
  return { look, createdAt, found, young: broken && Date.now() - mtimeMs < WRITING_MS };
}

/** @throws Error for anything but a regular file with JSON in it */
async function readJson(path: string): Promise<unknown> {
  const file = await open(path, READING);
  try {
    const { found } = await readHandle(file, undefined);
    if ('value' in found) return found.value;
    throw new Error(found.message);
  } finally {
    await file.close();
  }
}

async function readBounded(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_DOCUMENT_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function isSame(a: Snapshot, b: Snapshot | undefined): boolean {
  if (b === undefined || a.incomplete !== b.incomplete || a.declarations.length !== b.declarations.length) return false;
  return a.declarations.every((declaration, index) => declaration === b.declarations[index]);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
