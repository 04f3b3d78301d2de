import { randomBytes } from 'node:crypto';
import { SandboxError, type Command, type CommandResult, type SandboxBackend } from './backend.ts';
import { decodeContent } from './contents.ts';
import { listingCommand, shown, shownOf, takeListing, withoutListing, type Listing, type Product, type Shown } from './products.ts';
import { WORKSPACE } from './shell.ts';

export type Language = 'python' | 'javascript' | 'typescript' | 'bash';

interface Runner {
  readonly program: string;
  readonly extension: string;
}

/** How each language runs a file. Kept in the working directory, so that a program finds the modules beside it. */
const runners: Readonly<Record<Language, Runner>> = {
  python: { program: 'python3', extension: 'py' },
  javascript: { program: 'node', extension: 'js' },
  typescript: { program: 'node', extension: 'ts' },
  // a file system's clock ticks every 4 ms, and this one may make a file before it has: the file would be no newer than the program
  bash: { program: 'sleep 0.01; bash', extension: 'sh' },
};

/** To look at what a program made and to remove it, after it was killed. */
const TIDY_TIMEOUT_MS = 2_000;

export interface Program extends Omit<Command, 'command'> {
  readonly language: Language;
  readonly code: string;
}

export interface ProgramRun {
  readonly result: CommandResult;
  /** from its start to its end, ms */
  readonly durationMs: number;
  /** what it made or changed in the workspace; undefined when that is not known */
  readonly products: readonly Product[] | undefined;
  /** pictures and tables among them */
  readonly content: readonly Shown[];
}

/** Runs a program in a sandbox and leaves nothing there but what the program made. @throws what the backend throws */
export async function runProgram(backend: SandboxBackend, handle: string, program: Program): Promise<ProgramRun> {
  const { language, code, timeoutMs, signal, onOutput } = program;
  const runner = runners[language];
  const mark = `${WORKSPACE}/.program-${randomBytes(4).toString('hex')}.${runner.extension}`;
  const listing: Listing = { mark, nonce: randomBytes(16).toString('hex') };
  const bytes = decodeContent(code, false, backend.describe().limits.fileBytes);
  await backend.writeFile(handle, { path: mark, timeoutMs, signal }, bytes);
  const command = `${runner.program} ${mark}; code=$?; ${listingCommand(listing)} >&2; rm -f ${mark}; exit $code`;
  const began = performance.now();
  const result = await backend.execute(handle, { command, timeoutMs, signal, onOutput: onOutput && withoutListing(onOutput, listing) });
  const durationMs = performance.now() - began;
  const taken = takeListing(result.stderr, listing);
  const products = taken?.products ?? (result.timedOut ? await lookAfterwards(backend, handle, { listing, signal }) : undefined);
  const content = await contentOf(backend, handle, { products: products ?? [], timeoutMs, signal });
  return { result: { ...result, stderr: taken?.rest ?? result.stderr }, durationMs, products, content };
}

async function lookAfterwards(
  backend: SandboxBackend,
  handle: string,
  { listing, signal }: { readonly listing: Listing; readonly signal: AbortSignal },
): Promise<readonly Product[] | undefined> {
  const command = `${listingCommand(listing)}; rm -f ${listing.mark}`;
  const result = await backend.execute(handle, { command, timeoutMs: TIDY_TIMEOUT_MS, signal }).catch(() => undefined);
  return result && takeListing(result.stdout, listing)?.products;
}

interface Showing {
  readonly products: readonly Product[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function contentOf(backend: SandboxBackend, handle: string, { products, ...access }: Showing): Promise<Shown[]> {
  const content: Shown[] = [];
  for (const product of shownOf(products)) {
    const bytes = await backend.readFile(handle, { path: product.path, ...access }).catch(unreadable);
    // it may have grown since it was listed
    const block = bytes !== undefined && bytes.length <= product.size ? shown(product, bytes) : undefined;
    if (block !== undefined) content.push(block);
  }
  return content;
}

/** A product that cannot be read is named only. */
function unreadable(error: unknown): undefined {
  if (!(error instanceof SandboxError)) throw error;
}
