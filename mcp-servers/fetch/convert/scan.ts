import { Parser } from 'htmlparser2';

/** How a page is built, found in one linear pass: what may be handed to algorithms that are not linear. */
export type Scan =
  | {
      readonly fits: true;
      /** characters of text outside scripts, styles, navigation and the like, white space not counted */ readonly textLength: number;
    }
  | { readonly fits: false };

/** Readability takes 80 s at depth 2,000 and overflows the stack further down; real pages stay below 100. */
export const MAX_DEPTH = 256;
/** An article of 1 MB has half as many; Readability and the DOM take seconds beyond. */
export const MAX_ELEMENTS = 50_000;
/** DOM attributes are lists, searched from the start. */
const MAX_ATTRIBUTES = 256;
const CHUNK = 64 * 1024;

/** Elements whose text is not the page's. */
export const silent: ReadonlySet<string> = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'select',
  'title',
]);
/** Elements whose text is on every page of a site. */
export const furniture: ReadonlySet<string> = new Set(['nav', 'footer']);

export function scanHtml(html: string): Scan {
  const scan = new Scanner();
  // the parser looks through its open elements at each end tag: linear only because it stops at MAX_DEPTH
  for (let start = 0; start < html.length && scan.fits; start += CHUNK) scan.parser.write(html.slice(start, start + CHUNK));
  if (scan.fits) scan.parser.end();
  return scan.fits ? { fits: true, textLength: scan.textLength } : { fits: false };
}

class Scanner {
  fits = true;
  textLength = 0;
  readonly parser: Parser;
  #depth = 0;
  #elements = 0;
  #attributes = 0;
  #silentSince = 0;

  constructor() {
    this.parser = new Parser({
      onopentagname: () => {
        this.#attributes = 0;
      },
      onattribute: () => {
        this.#attributes += 1;
        this.#check(this.#attributes <= MAX_ATTRIBUTES);
      },
      onopentag: (name) => this.#open(name),
      onclosetag: () => this.#close(),
      ontext: (text) => {
        if (this.#silentSince === 0) this.textLength += visibleLength(text);
      },
    });
  }

  #open(name: string): void {
    this.#depth += 1;
    this.#elements += 1;
    if (this.#silentSince === 0 && (silent.has(name) || furniture.has(name))) this.#silentSince = this.#depth;
    this.#check(this.#depth <= MAX_DEPTH && this.#elements <= MAX_ELEMENTS);
  }

  #close(): void {
    if (this.#silentSince === this.#depth) this.#silentSince = 0;
    this.#depth -= 1;
  }

  #check(fits: boolean): void {
    if (fits) return;
    this.fits = false;
    this.parser.pause();
  }
}

/** Characters that are not white space. */
export function visibleLength(text: string): number {
  return text.replace(/\s+/g, '').length;
}
