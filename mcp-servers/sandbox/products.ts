import type { OnOutput } from './backend.ts';
import { quoted } from './shell.ts';

/** A file that a program made or changed. */
export interface Product {
  /** relative to the workspace */
  readonly path: string;
  /** bytes */
  readonly size: number;
}

/** Where and how the shell writes down what a program made. */
export interface Listing {
  /** a file written before the program started: what is newer is its work */
  readonly mark: string;
  /** 32 hexadecimal digits that nothing else prints, before and after the list */
  readonly nonce: string;
}

const MAX_PRODUCTS = 100;
const MAX_LISTING_BYTES = 16 * 1024;

/** Prints the list: hidden files, and what interpreters keep for themselves, are nobody's product. */
export function listingCommand({ mark, nonce }: Listing): string {
  const skipped = ['.?*', '__pycache__', 'node_modules'].map((name) => `-name ${quoted(name)} -prune -o`).join(' ');
  const found = `find . -xdev ${skipped} -type f -newer ${quoted(mark)} -printf '%s %P\\0' 2>/dev/null | head -c ${MAX_LISTING_BYTES}`;
  const bound = `printf '\\000${nonce}\\000'`;
  return `{ ${bound}; ${found}; ${bound}; }`;
}

/** What a stream holds beside the list, and the list; undefined when it is not there whole. A guest can forge it: it tells of nothing but its own files. */
export function takeListing(
  stream: Uint8Array,
  { nonce }: Listing,
): { readonly rest: Uint8Array; readonly products: readonly Product[] } | undefined {
  const bytes = Buffer.from(stream.buffer, stream.byteOffset, stream.byteLength);
  const bound = Buffer.from(`\0${nonce}\0`);
  const start = bytes.indexOf(bound);
  const end = start === -1 ? -1 : bytes.indexOf(bound, start + bound.length);
  if (end === -1) return undefined;
  const products = productsIn(bytes.subarray(start + bound.length, end).toString());
  return { rest: Buffer.concat([bytes.subarray(0, start), bytes.subarray(end + bound.length)]), products };
}

/** Passes on what a command prints until the list begins. */
export function withoutListing(onOutput: OnOutput, { nonce }: Listing): OnOutput {
  const bound = Buffer.from(`\0${nonce}`);
  let listing = false;
  return (stream, chunk) => {
    if (stream === 'stdout') return onOutput(stream, chunk);
    const start = Buffer.from(chunk).indexOf(bound);
    if (!listing) onOutput(stream, start === -1 ? chunk : chunk.subarray(0, start));
    listing ||= start !== -1;
  };
}

/** The last entry may be cut off; so may the first be somebody's joke. */
function productsIn(listing: string): Product[] {
  const entries = listing
    .split('\0')
    .slice(0, -1)
    .flatMap((entry) => {
      const [, size, path] = /^(\d{1,15}) (.+)$/s.exec(entry) ?? [];
      return size === undefined || path === undefined || path.includes('\u{fffd}') ? [] : [{ path, size: Number(size) }];
    });
  return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, MAX_PRODUCTS);
}

/** How much of the products is shown, not only named. */
const MAX_SHOWN = 8;
const MAX_IMAGE_BYTES = 1024 * 1024;
const MAX_TABLE_BYTES = 32 * 1024;

/** Those whose content goes into the result, by their names: pictures, and tables that a model can read. */
export function shownOf(products: readonly Product[]): readonly Product[] {
  let room = MAX_IMAGE_BYTES;
  const fits = ({ path, size }: Product): boolean => {
    if (size === 0 || size > (isTable(path) ? MAX_TABLE_BYTES : isImage(path) ? room : 0)) return false;
    room -= size;
    return true;
  };
  return products.filter(fits).slice(0, MAX_SHOWN);
}

const isImage = (path: string): boolean => /\.(png|jpe?g|gif|webp)$/i.test(path);
const isTable = (path: string): boolean => /\.(csv|tsv)$/i.test(path);

export type Shown =
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'text'; readonly text: string };

/** A product as a client shows it; undefined when it is not what its name says. */
export function shown({ path }: Product, content: Uint8Array): Shown | undefined {
  const bytes = Buffer.from(content);
  if (isTable(path)) {
    const text = bytes.toString();
    return text.includes('\u{fffd}') ? undefined : { type: 'text', text: `${path}:\n${text}` };
  }
  const mimeType = imageTypeOf(bytes);
  return mimeType === undefined ? undefined : { type: 'image', data: bytes.toString('base64'), mimeType };
}

/** By the first bytes, as WHATWG's MIME Sniffing has them, section 6.1. */
function imageTypeOf(bytes: Buffer): string | undefined {
  const starts = (hex: string, at = 0): boolean => bytes.subarray(at, at + hex.length / 2).toString('hex') === hex;
  if (starts('89504e470d0a1a0a')) return 'image/png';
  if (starts('ffd8ff')) return 'image/jpeg';
  if (starts('474946383761') || starts('474946383961')) return 'image/gif';
  if (starts('52494646') && starts('574542505650', 8)) return 'image/webp';
  return undefined;
}
