import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { watchFiles } from '../../../lib/http-host/watch-file.ts';
import type { Log } from '../../../lib/log.ts';
import { readOperatorStatus, type OperatorStatus } from './operator-status.ts';

/** Some ten thousand declarations. A larger file is no status. */
const MAX_BYTES = 16 * 1024 * 1024;

interface StatusFileOptions {
  readonly path: string;
  /** called after each change of what `status` gives */
  readonly changed: () => void;
  readonly log: Log;
  readonly maxBytes?: number;
}

/** What the operator wrote last. The file is looked at every half second, and read again only when it changed. */
export class StatusFile {
  readonly #options: StatusFileOptions;
  #status: OperatorStatus | undefined;
  /** which content was read last */
  #seen = '';
  #looking: Promise<void> = Promise.resolve();
  readonly #unwatch: () => void;

  private constructor(options: StatusFileOptions) {
    this.#options = options;
    this.#unwatch = watchFiles([options.path], () => void this.look());
  }

  /** Resolves after the first look, whatever that found. */
  static async watch(options: StatusFileOptions): Promise<StatusFile> {
    const file = new StatusFile(options);
    await file.look();
    return file;
  }

  /** undefined while there is no file that can be read */
  get status(): OperatorStatus | undefined {
    return this.#status;
  }

  /** Looks now; one look follows another. Never fails. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  close(): void {
    this.#unwatch();
  }

  async #look(): Promise<void> {
    const { path, changed, log } = this.#options;
    try {
      const content = await this.#readChanged();
      if (content === undefined) return;
      this.#status = readOperatorStatus(content);
      if (this.#status === undefined) log.warn({ file: path }, 'STATUS_FILE is no status of an operator; pages are shown without it');
    } catch (error) {
      const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const known = this.#seen === String(error);
      this.#seen = String(error);
      if (known) return;
      this.#status = undefined;
      if (!gone) log.warn({ err: error }, 'STATUS_FILE cannot be read; pages are shown without it');
    }
    changed();
  }

  /** The whole text; undefined when it was read before. @throws what keeps it from being read */
  async #readChanged(): Promise<string | undefined> {
    const { path, maxBytes = MAX_BYTES } = this.#options;
    // a pipe of that name must not be waited for
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      const { size, mtimeMs, ino } = stats;
      const seen = [size, mtimeMs, ino].join(' ');
      if (seen === this.#seen) return undefined;
      if (!stats.isFile()) throw new Error(`${path} is no file`);
      if (size > maxBytes) throw new Error(`${path} has ${size} bytes; at most ${maxBytes} are read`);
      const text = await readUpTo(file, size);
      this.#seen = seen;
      return text;
    } finally {
      await file.close();
    }
  }
}

/** Not more than was there when its size was asked for: it may be growing. */
async function readUpTo(file: FileHandle, size: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
  return buffer.toString('utf8', 0, bytesRead);
}
