import type { About } from './about.ts';
import { lineOf } from './tree.ts';

/** Text of a PDF, or why there is none. */
export type PdfText = { readonly text: string; readonly about: About } | { readonly problem: string };

/** Pages beyond are announced, not read. */
const MAX_PAGES = 1000;
const MAX_TEXT = 8 * 1024 * 1024;
/** Lines further apart than this begin a new paragraph, in heights of a line. */
const PARAGRAPH_GAP = 1.6;

/** No code is made of what a font says, no font is loaded, no image decoded. */
const SAFELY = { isEvalSupported: false, useSystemFonts: false, disableFontFace: true, maxImageSize: 1, verbosity: 0 } as object;

/** The little of pdf.js that is used here. */
interface Pdf {
  readonly numPages: number;
  getMetadata(): Promise<{ readonly info: Readonly<Record<string, unknown>> }>;
  getPage(number: number): Promise<PdfPage>;
}
interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly (Item | object)[] }>;
  cleanup(): unknown;
}
interface Item {
  readonly str: string;
  readonly hasEOL: boolean;
  readonly height: number;
  readonly transform: readonly number[];
}

/**
 * The text of a PDF, page by page, as pdf.js reads it: in the order of the file, without fonts, images, forms or scripts.
 * Characters of Chinese, Japanese and Korean fonts that are neither embedded nor mapped to Unicode are lost.
 * @param bytes not used again: pdf.js takes them over
 * @param withinMs pages are read until then, and what was read is shown, milliseconds
 */
export async function pdfText(bytes: Uint8Array, withinMs: number): Promise<PdfText> {
  const endsAt = performance.now() + withinMs;
  // 1.7 MB of code that other pages do not need
  const { getDocumentProxy } = await import('unpdf');
  try {
    const pdf = (await getDocumentProxy(bytes, SAFELY)) as unknown as Pdf;
    const about = aboutOf(
      await pdf.getMetadata().then(
        ({ info }) => info,
        () => ({}),
      ),
    );
    const pages = await pagesOf(pdf, endsAt);
    if (pages.every((text) => text === '')) return { problem: 'the PDF has no text, only images perhaps' };
    const front = [...(about.title === undefined ? [] : [`# ${about.title}`]), countOf(pdf.numPages)];
    const parts = pages.flatMap((text, index) => [`## Page ${index + 1}`, ...(text === '' ? [] : [text])]);
    return { text: [...front, ...parts, ...restNote(pages.length, pdf.numPages)].join('\n\n'), about };
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

async function pagesOf(pdf: Pdf, endsAt: number): Promise<string[]> {
  const pages: string[] = [];
  let length = 0;
  while (pages.length < Math.min(pdf.numPages, MAX_PAGES) && performance.now() < endsAt && length < MAX_TEXT) {
    const text = await pageText(await pdf.getPage(pages.length + 1));
    length += text.length;
    pages.push(text);
  }
  return pages;
}

function countOf(pages: number): string {
  return `${pages} ${pages === 1 ? 'page' : 'pages'}`;
}

function restNote(read: number, all: number): string[] {
  const note = `<error>The document is longer than this server reads; only the first ${read} of its ${all} pages are here.</error>`;
  return read < all ? [note] : [];
}

/** By the names that pdf.js gives its errors. */
function problemOf(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (name === 'PasswordException') return 'the PDF is protected by a password';
  return `the PDF is damaged: ${message}`;
}

async function pageText(page: PdfPage): Promise<string> {
  const { items } = await page.getTextContent();
  const parts: string[] = [];
  let before: Item | undefined;
  for (const item of items.filter(isText)) {
    if (before !== undefined && isFarBelow(item, before)) parts.push('\n');
    parts.push(item.str, item.hasEOL ? '\n' : '');
    // an item that only ends a line has no place
    before = item.str === '' && before !== undefined ? { ...before, hasEOL: true } : item;
  }
  page.cleanup();
  const lines = parts.join('').split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function isText(item: Item | object): item is Item {
  return 'str' in item;
}

function isFarBelow(item: Item, before: Item): boolean {
  if (!before.hasEOL) return false;
  const [was, is] = [before.transform[5] ?? 0, item.transform[5] ?? 0];
  const height = Math.max(before.height, item.height);
  return height > 0 && Math.abs(was - is) > height * PARAGRAPH_GAP;
}

function aboutOf(info: Readonly<Record<string, unknown>>): About {
  const line = (value: unknown): string => (typeof value === 'string' ? lineOf(value).slice(0, 300) : '');
  const date = /^D:(\d{4})(\d\d)?(\d\d)?/.exec(line(info['CreationDate']));
  const published =
    date === null
      ? ''
      : date
          .slice(1)
          .filter((part) => part !== undefined)
          .join('-');
  const entries = Object.entries({ title: line(info['Title']), byline: line(info['Author']), published, language: line(info['Language']) });
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}
