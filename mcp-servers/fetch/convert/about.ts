import { isSiteName } from './boilerplate.ts';
import { embedded, objectsIn } from './embedded.ts';
import { elementsOf, lineOf, textOf, type Element } from './tree.ts';

/** What a page says about itself; each on one line. */
export interface About {
  readonly title?: string;
  readonly byline?: string;
  /** as the page writes it; mostly ISO 8601 */
  readonly published?: string;
  /** `en`, `pt-BR` */
  readonly language?: string;
  readonly site?: string;
}

/** The same while it is read, with what decides between candidates. */
export interface Facts extends About {
  /** the page's only h1, if there is just one */
  readonly heading?: string;
  /** as the page has it, often with the site's name */
  readonly fullTitle?: string;
  /** what links are relative to, if the page declares it */
  readonly base?: string;
}

/** What is longer is no title, no byline and no date, characters. */
const MAX_LENGTH = 300;

/** Reads what a page says about itself: its `<meta>` elements, JSON-LD, microdata, `<time>`. */
export function factsOf(root: Element): Facts {
  const reader = new Reader();
  for (const element of elementsOf(root)) reader.see(element);
  return reader.facts(embedded(root).flatMap((data) => Array.from(objectsIn(data))));
}

class Reader {
  readonly #meta = new Map<string, string>();
  readonly #first = new Map<string, string>();
  readonly #headings: string[] = [];

  readonly #seers = new Map<string, (element: Element, attributes: Element['attributes']) => void>([
    ['meta', (_element, attributes) => this.#note(attributes)],
    ['html', (_element, attributes) => this.#keep('language', attributes['lang'] ?? attributes['xml:lang'])],
    ['base', (_element, attributes) => this.#keep('base', attributes['href'], Number.POSITIVE_INFINITY)],
    ['title', (element) => this.#keep('title', rawTextOf(element), Number.POSITIVE_INFINITY)],
    ['h1', (element) => this.#head(element)],
    ['time', (element) => this.#keep('time', dateIn(element))],
  ]);

  see(element: Element): void {
    this.#seers.get(element.name)?.(element, element.attributes);
    const { itemprop, rel } = element.attributes;
    if (itemprop === 'author' || rel === 'author') this.#keep('author', textOf(element));
    else if (itemprop === 'datePublished') this.#keep('date', dateIn(element));
  }

  facts(data: readonly Readonly<Record<string, unknown>>[]): Facts {
    const of = (...names: string[]): string | undefined => names.map((name) => this.#meta.get(name)).find((value) => value !== undefined);
    const fullTitle = this.#first.get('title');
    const own = this.#headings.filter((line) => !isSiteName(line, fullTitle ?? ''));
    const heading = own.length === 1 ? own[0] : undefined;
    const headline = data.map(({ headline: line }) => short(line)).find((line) => line !== undefined);
    return defined({
      title: cut(of('og:title', 'twitter:title', 'dc.title') ?? headline ?? shortTitle(fullTitle, heading)),
      byline: byline(of('author', 'article:author', 'parsely-author', 'dc.creator')) ?? authorOf(data) ?? this.#first.get('author'),
      published:
        of('article:published_time', 'date', 'dc.date', 'parsely-pub-date', 'pubdate') ??
        dateOf(data) ??
        this.#first.get('date') ??
        this.#first.get('time'),
      language: this.#first.get('language') ?? of('content-language', 'og:locale'),
      site: of('og:site_name', 'application-name'),
      heading,
      fullTitle,
      base: this.#first.get('base'),
    });
  }

  #note(attributes: Element['attributes']): void {
    const name = (attributes['property'] ?? attributes['name'] ?? attributes['http-equiv'] ?? '').toLowerCase();
    const content = short(attributes['content']);
    if (name !== '' && content !== undefined && !this.#meta.has(name)) this.#meta.set(name, content);
  }

  #head(element: Element): void {
    if (element.text > 0) this.#headings.push(lineOf(textOf(element)));
  }

  /** The first one counts. */
  #keep(name: string, text: string | undefined, most = MAX_LENGTH): void {
    const line = lineOf(text);
    if (line !== '' && line.length <= most && !this.#first.has(name)) this.#first.set(name, line);
  }
}

function dateIn(element: Element): string {
  return element.attributes['datetime'] ?? element.attributes['content'] ?? textOf(element);
}

function short(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = lineOf(value);
  return line === '' || line.length > MAX_LENGTH ? undefined : line;
}

function cut(title: string | undefined): string | undefined {
  return title?.slice(0, MAX_LENGTH).trim();
}

/** A title often ends, or begins, with the name of the site; the page's heading tells where. */
function shortTitle(title: string | undefined, heading: string | undefined): string | undefined {
  return title !== undefined && heading !== undefined && title.includes(heading) ? heading : title;
}

/** Profiles are given as addresses too. */
function byline(text: string | undefined): string | undefined {
  return text === undefined || /^https?:/.test(text) ? undefined : text;
}

function authorOf(data: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  for (const { author } of data) {
    const names = [author]
      .flat()
      .flatMap((one) => short(typeof one === 'string' ? one : (one as { name?: unknown } | null | undefined)?.name) ?? []);
    const line = byline(names.join(', '));
    if (line !== undefined && line !== '' && line.length <= MAX_LENGTH) return line;
  }
  return undefined;
}

function dateOf(data: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  return data.map(({ datePublished }) => short(datePublished)).find((date) => date !== undefined);
}

function rawTextOf({ children }: Element): string {
  return children.filter((child) => typeof child === 'string').join('');
}

function defined(facts: Readonly<Record<keyof Facts, string | undefined>>): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined && value !== ''));
}
