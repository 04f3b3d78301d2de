import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { draftOf, removeDrafts } from '../../lib/draft.ts';
import { earlierStatus, type OperatorView, type StatusSink } from './status.ts';

/** What is used of an earlier status. Somebody may have changed the file, or an operator of another version written it. */
const earlierView = z.looseObject({
  version: z.literal(1),
  declarations: z.array(earlierStatus),
});

/** Keeps one file equal to what the operator knows: written as a whole, and only when something changed. */
export class StatusFile implements StatusSink {
  readonly #path: string;
  #written = '';
  #wanted: OperatorView | undefined;
  #writing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * What an operator wrote before, so that times of transitions outlive it; undefined when there is none that can be read. Drafts of one that
   * was killed while it wrote are removed.
   */
  async read(): Promise<OperatorView | undefined> {
    removeDrafts(this.#path);
    try {
      const view: unknown = JSON.parse(await readFile(this.#path, 'utf8'));
      return earlierView.safeParse(view).success ? (view as OperatorView) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Resolves when this view, or a later one, is in the file. @throws the file system's error */
  async write(view: OperatorView): Promise<void> {
    this.#wanted = view;
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  async #drain(): Promise<void> {
    while (this.#wanted !== undefined) {
      const view = this.#wanted;
      this.#wanted = undefined;
      const content = JSON.stringify({ ...view, updatedAt: '' });
      if (content === this.#written) continue;
      await replaceFile(this.#path, `${JSON.stringify(view, null, 2)}\n`);
      this.#written = content;
    }
  }
}

/** A reader sees the old file or the new one, never a part. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = draftOf(path);
  try {
    await writeFile(draft, text, { mode: 0o644 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
