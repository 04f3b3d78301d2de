import { Tokenizer } from 'htmlparser2';
import { Links } from './links.ts';

/** Elements that stand on lines of their own, with an empty line around. */
const blocks = new Set(
  'address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure form header hgroup main ol p section table ul'.split(
    ' ',
  ),
);
const headings = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6']);
const voids = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);

/** Elements whose text is not the page's. */
const silent: ReadonlySet<string> = new Set('script style noscript template svg iframe object canvas select title'.split(' '));
/** Elements whose text is on every page of a site. */
const furniture: ReadonlySet<string> = new Set(['nav', 'footer']);

/** More is dropped, characters: short links can grow to the length of the page's own URL. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** Text is laid out in pieces of so many characters: a regular expression takes thirty times the memory of what it goes through. */
const CHUNK = 64 * 1024;

interface Attributes {
  href?: string;
  src?: string;
  alt?: string;
}

/**
 * Text of a page as plain Markdown, in one pass whose time and memory are linear in its length, whatever its structure: for pages that
 * are too deep or too large for a DOM, and for those on which the other ways fail. Links are absolute.
 */
export function linearText(html: string, base: string): string {
  const text = render(html, base, new Set([...silent, ...furniture]));
  return text === '' ? render(html, base, silent) : text;
}

function render(html: string, base: string, skipped: ReadonlySet<string>): string {
  const writer = new Writer(base);
  let name = '';
  let attribute = '';
  let attributes: Attributes = {};
  /** the element whose content is skipped, and how many of its name are open */
  let skipping = { name: '', open: 0 };

  const append = (value: string): void => {
    if (attribute === 'href' || attribute === 'src' || attribute === 'alt') attributes[attribute] = (attributes[attribute] ?? '') + value;
  };
  const opened = (closed: boolean): void => {
    if (skipping.open > 0) {
      if (name === skipping.name && !closed) skipping.open += 1;
    } else if (skipped.has(name) && !closed) skipping = { name, open: 1 };
    else writer.open(name, attributes);
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname: (start, end) => {
        name = html.slice(start, end).toLowerCase();
        attributes = {};
      },
      onattribname: (start, end) => {
        attribute = html.slice(start, end).toLowerCase();
      },
      onattribdata: (start, end) => append(html.slice(start, end)),
      onattribentity: (codePoint) => append(String.fromCodePoint(codePoint)),
      onattribend: () => {
        attribute = '';
      },
      onopentagend: () => opened(voids.has(name)),
      onselfclosingtag: () => opened(voids.has(name)),
      onclosetag: (start, end) => {
        const closing = html.slice(start, end).toLowerCase();
        if (skipping.open === 0) writer.close(closing);
        else if (closing === skipping.name) skipping.open -= 1;
      },
      ontext: (start, end) => {
        if (skipping.open > 0) return;
        for (let from = start; from < end; from += CHUNK) writer.text(html.slice(from, Math.min(from + CHUNK, end)));
      },
      ontextentity: (codePoint) => {
        if (skipping.open === 0) writer.text(String.fromCodePoint(codePoint));
      },
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: () => {},
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return writer.result();
}

/** Lays out what a tokenizer sees. */
class Writer {
  #base: string;
  #links: Links;
  #baseIsSet = false;
  readonly #parts: string[] = [];
  /** line breaks that are due before the next text */
  #breaks = 0;
  #space = false;
  #prefix = '';
  #pre = 0;
  #cells = 0;
  #length = 0;
  /** the link that is open, and where its first text stands */
  #link: { readonly href: string; first?: number } | undefined;

  readonly #openers = new Map<string, (attributes: Attributes) => void>([
    ['base', ({ href }) => this.#setBase(href)],
    ['a', ({ href }) => this.#openLink(href)],
    ['img', (attributes) => this.#image(attributes)],
    ['br', () => this.#break(1)],
    ['tr', () => this.#row()],
    ['td', () => this.#cell()],
    ['th', () => this.#cell()],
    ['hr', () => this.#rule()],
    ['li', () => this.#start(1, '* ')],
    ['pre', () => this.#openPre()],
  ]);

  constructor(base: string) {
    this.#base = base;
    this.#links = new Links(base);
  }

  open(name: string, attributes: Attributes): void {
    if (headings.has(name)) this.#start(2, `${'#'.repeat(Number(name[1]))} `);
    else if (blocks.has(name)) this.#break(2);
    else this.#openers.get(name)?.(attributes);
  }

  close(name: string): void {
    if (headings.has(name) || blocks.has(name)) this.#break(2);
    else if (name === 'a') this.#closeLink();
    else if (name === 'li' || name === 'tr') this.#break(1);
    else if (name === 'pre') this.#closePre();
  }

  text(raw: string): void {
    if (this.#pre > 0) return this.#write(raw);
    const text = raw.replace(/\s+/g, ' ');
    const start = text.startsWith(' ') ? 1 : 0;
    if (start === 1) this.#space = true;
    const end = text.length > start && text.endsWith(' ') ? text.length - 1 : text.length;
    if (end > start) this.#write(text.slice(start, end));
    if (end < text.length) this.#space = true;
  }

  result(): string {
    this.#closeLink();
    if (this.#pre > 0) this.#closePre();
    return this.#parts.join('').trim();
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_LENGTH) return;
    if (this.#breaks > 0 && this.#parts.length > 0) this.#parts.push('\n'.repeat(this.#breaks));
    else if (this.#space && this.#parts.length > 0) this.#parts.push(' ');
    this.#parts.push(this.#prefix, text);
    if (this.#link !== undefined) this.#link.first ??= this.#parts.length - 1;
    this.#breaks = 0;
    this.#space = false;
    this.#prefix = '';
  }

  #break(lines: 1 | 2): void {
    if (this.#pre > 0) return;
    this.#breaks = Math.max(this.#breaks, lines);
    this.#space = false;
  }

  #start(lines: 1 | 2, prefix: string): void {
    this.#break(lines);
    this.#prefix = prefix;
  }

  #rule(): void {
    this.#break(2);
    this.#write('---');
    this.#break(2);
  }

  #row(): void {
    this.#break(1);
    this.#cells = 0;
  }

  #cell(): void {
    if (this.#cells > 0 && this.#pre === 0) this.text(' | ');
    this.#cells += 1;
  }

  #openPre(): void {
    if (this.#pre === 0) {
      this.#break(2);
      this.#write('```\n');
    }
    this.#pre += 1;
  }

  #closePre(): void {
    if (this.#pre === 0) return;
    this.#pre -= 1;
    if (this.#pre > 0) return;
    this.#parts.push(this.#parts.at(-1)?.endsWith('\n') === true ? '```' : '\n```');
    this.#break(2);
  }

  /** The first one counts, also when it is no URL (HTML section 4.2.3). */
  #setBase(target: string | undefined): void {
    if (this.#baseIsSet || target === undefined) return;
    this.#baseIsSet = true;
    this.#base = URL.parse(target, this.#base)?.href ?? this.#base;
    this.#links = new Links(this.#base);
  }

  #openLink(target: string | undefined): void {
    this.#closeLink();
    const href = this.#pre > 0 ? undefined : this.#links.resolve(target);
    if (href !== undefined) this.#link = { href };
  }

  /** Brackets only around a link that shows something. */
  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link?.first === undefined) return;
    this.#parts[link.first] = `[${this.#parts[link.first] ?? ''}`;
    this.#length += link.href.length;
    this.#parts.push(`](${link.href})`);
  }

  #image({ src, alt }: Attributes): void {
    const href = this.#pre > 0 ? undefined : this.#links.resolve(src);
    if (href !== undefined) this.#write(`![${(alt ?? '').replace(/\s+/g, ' ').trim()}](${href})`);
  }
}
