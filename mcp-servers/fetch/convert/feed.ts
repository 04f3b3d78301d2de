import { Parser } from 'htmlparser2';
import type { About } from './about.ts';
import { Links } from './links.ts';
import { toMarkdown } from './markdown.ts';
import { lineOf, measure, parseTree } from './tree.ts';

export interface Feed {
  readonly markdown: string;
  readonly about: About;
}

/** What a feed, or one of its entries, says, by the names that both formats have for it. */
type Fields = Map<string, string>;

/** Feeds are flat; what they quote may nest as it likes. */
const MAX_DEPTH = 128;
const MAX_ENTRIES = 5000;
/** Of an entry no more is shown than this: it has a link. Characters. */
const MAX_SUMMARY = 1500;
const MAX_FIELD = 256 * 1024;
const CHUNK = 64 * 1024;

/** RSS, RDF and Atom call the same things differently. */
const fieldNames: Readonly<Record<string, string>> = {
  title: 'title',
  link: 'link',
  description: 'summary',
  summary: 'summary',
  subtitle: 'summary',
  content: 'content',
  'content:encoded': 'content',
  pubdate: 'date',
  published: 'date',
  'dc:date': 'date',
  updated: 'updated',
  lastbuilddate: 'updated',
  author: 'author',
  'dc:creator': 'author',
  language: 'language',
};

/** The root elements of the three formats. */
const ROOT = /^\uFEFF?\s*(?:<\?[^>]*>\s*|<!--[^]{0,4000}?-->\s*|<!DOCTYPE[^>[]*>\s*)*<(rss|feed|rdf:RDF)[\s>]/;

/**
 * A feed as a list of its entries: title with link, author and date, summary. Undefined for XML that is none. No entity but XML's own is
 * expanded, and nothing outside the text is read.
 * @param base the feed's URL, for its links
 */
export function feedText(xml: string, base: string): Feed | undefined {
  if (!isFeed(xml.slice(0, CHUNK))) return undefined;
  const { feed, entries } = read(xml);
  if (entries.length === 0 && !feed.has('title')) return undefined;
  const links = new Links(URL.parse(feed.get('link') ?? '', base)?.href ?? base);
  const title = lineOf(feed.get('title'));
  const parts = [title === '' ? '' : `# ${title}`, summaryOf(feed, links), ...entries.map((entry) => entryText(entry, links))];
  return { markdown: parts.filter((part) => part !== '').join('\n\n'), about: aboutOf(feed, title) };
}

function isFeed(head: string): boolean {
  const root = ROOT.exec(head)?.[1];
  return root !== undefined && (root !== 'feed' || /xmlns\s*=\s*["']http:\/\/www\.w3\.org\/2005\/Atom["']/.test(head));
}

function read(xml: string): { feed: Fields; entries: readonly Fields[] } {
  const reader = new Reader();
  for (let start = 0; start < xml.length && !reader.full; start += CHUNK) reader.parser.write(xml.slice(start, start + CHUNK));
  if (!reader.full) reader.parser.end();
  return reader;
}

class Reader {
  full = false;
  readonly feed: Fields = new Map();
  readonly entries: Fields[] = [];
  readonly parser: Parser;
  #depth = 0;
  /** the entry that is open, and how deep it lies */
  #entry: { readonly fields: Fields; readonly depth: number } | undefined;
  /** the field that is open, what it says so far, and how deep it lies */
  #field: { readonly name: string; text: string; readonly depth: number } | undefined;

  constructor() {
    this.parser = new Parser(
      {
        onopentag: (name, attributes) => this.#open(name.toLowerCase(), attributes),
        onclosetag: () => this.#close(),
        ontext: (text) => {
          if (this.#field !== undefined && this.#field.text.length < MAX_FIELD) this.#field.text += text;
        },
      },
      { xmlMode: true, decodeEntities: true },
    );
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH || this.entries.length >= MAX_ENTRIES) return this.#stop();
    if (this.#field !== undefined) return;
    if (name === 'item' || name === 'entry') {
      this.#entry = { fields: new Map(), depth: this.#depth };
      this.entries.push(this.#entry.fields);
      return;
    }
    const field = fieldNames[name];
    if (field === undefined || !Object.hasOwn(fieldNames, name)) return;
    if (field === 'link' && attributes['href'] !== undefined) this.#link(attributes);
    else this.#field = { name: field, text: '', depth: this.#depth };
  }

  #close(): void {
    if (this.#field?.depth === this.#depth) {
      this.#keep(this.#field.name, this.#field.text);
      this.#field = undefined;
    }
    if (this.#entry?.depth === this.#depth) this.#entry = undefined;
    this.#depth -= 1;
  }

  #link({ href = '', rel = 'alternate' }: Readonly<Record<string, string>>): void {
    if (rel === 'alternate') this.#keep('link', href);
  }

  /** The first one counts. */
  #keep(name: string, text: string): void {
    const fields = this.#entry?.fields ?? this.feed;
    if (text.trim() !== '' && !fields.has(name)) fields.set(name, text.trim());
  }

  #stop(): void {
    this.full = true;
    this.parser.pause();
  }
}

function entryText(entry: Fields, links: Links): string {
  const title = lineOf(entry.get('title')) || 'Untitled';
  const href = links.resolve(entry.get('link'));
  const heading = href === undefined ? `## ${title}` : `## [${title}](${href})`;
  const about = [entry.get('author'), entry.get('date') ?? entry.get('updated')].map(lineOf).filter((line) => line !== '');
  return [heading, about.join(', '), summaryOf(entry, links)].filter((part) => part !== '').join('\n\n');
}

/** Summaries are plain text or HTML, and seldom say which. */
function summaryOf(fields: Fields, links: Links): string {
  const source = fields.get('summary') ?? fields.get('content') ?? '';
  const tree = /[<&]/.test(source) ? parseTree(source) : undefined;
  if (tree !== undefined) measure(tree);
  const text = tree === undefined ? lineOf(source) : toMarkdown(tree, { links, parse: () => undefined, noscript: false });
  return text.length <= MAX_SUMMARY ? text : `${text.slice(0, MAX_SUMMARY).toWellFormed()}…`;
}

function aboutOf(feed: Fields, title: string): About {
  const published = lineOf(feed.get('date') ?? feed.get('updated'));
  const entries = Object.entries({ title, byline: lineOf(feed.get('author')), published, language: lineOf(feed.get('language')) });
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}
