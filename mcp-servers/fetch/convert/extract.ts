import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { linearText } from './linear.ts';
import { toMarkdown } from './markdown.ts';
import { furniture, scanHtml, silent, visibleLength } from './scan.ts';

/** How a page's text was found. */
export type Method = 'article' | 'main' | 'body' | 'linear';

export interface Extracted {
  /** Markdown; empty when the page has no text at all */
  readonly markdown: string;
  readonly method: Method;
}

/** The little of the DOM that is used here; the project compiles without the browser's types. */
interface Element {
  readonly textContent: string | null;
  readonly innerHTML: string;
  getAttribute(name: string): string | null;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
  remove(): void;
}

/** An article of this many characters is one, even if the page has much more around it. */
const ARTICLE_LENGTH = 200;
/** Less of the page than this is a teaser or a cookie notice, not its article. */
const ARTICLE_SHARE = 0.05;
/** A short article has to be most of a short page. */
const SHORT_SHARE = 0.5;
/** What is longer is no title, no byline and no date, characters. */
const TITLE_LENGTH = 300;

/**
 * The text of a page as Markdown: its article as Readability finds it; else, when that is next to nothing of what the page holds (text
 * that scripts would unhide, lists, forms), its main element, else its body. A page with text never comes out empty.
 * @param base the page's URL, for its links
 */
export function extract(html: string, base: string): Extracted {
  const scan = scanHtml(html);
  if (!scan.fits) return linear(html, base);
  for (const [method, stage] of stages) {
    const found = attempt(stage, html, base);
    if (found !== undefined && isEnough(found.length, scan.textLength)) return { markdown: found.markdown, method };
  }
  return linear(html, base);
}

/** The same without any DOM: never slow, whatever the page. */
export function linear(html: string, base: string): Extracted {
  return { markdown: linearText(html, base), method: 'linear' };
}

/** Whether so many characters of text stand for a page that holds `all`. */
export function isEnough(length: number, all: number): boolean {
  return length > 0 && (length >= all * SHORT_SHARE || (length >= ARTICLE_LENGTH && length >= all * ARTICLE_SHARE));
}

interface Found {
  readonly markdown: string;
  /** characters of its text, white space not counted */
  readonly length: number;
}

type Stage = (document: Element, base: string) => Found | undefined;

const stages: readonly (readonly [Method, Stage])[] = [
  ['article', article],
  ['main', main],
  ['body', body],
];

/** A page that breaks one stage (each is other people's code on a stranger's page) is for the next one. */
function attempt(stage: Stage, html: string, base: string): Found | undefined {
  try {
    const document = parseDocument(html);
    const [anchor] = document.querySelectorAll('base[href]');
    return stage(document, URL.parse(anchor?.getAttribute('href') ?? '', base)?.href ?? base);
  } catch {
    return undefined;
  }
}

function article(document: Element, base: string): Found | undefined {
  const read = new Readability(document, { keepClasses: true }).parse();
  if (typeof read?.content !== 'string') return undefined;
  const about = [read.byline, read.publishedTime].map(oneLine).filter((line) => line !== '' && line.length <= TITLE_LENGTH);
  const title = oneLine(read.title).slice(0, TITLE_LENGTH);
  const front = [title === '' ? '' : `# ${title}`, about.join(', ')].filter((line) => line !== '');
  const text = toMarkdown(read.content, base);
  return { markdown: text === '' ? '' : [...front, text].join('\n\n'), length: visibleLength(read.textContent ?? '') };
}

function main(document: Element, base: string): Found | undefined {
  const candidates = [...document.querySelectorAll('main, [role=main], article')].map(
    (element) => [element, visibleLength(element.textContent ?? '')] as const,
  );
  const [largest] = candidates.toSorted(([, a], [, b]) => b - a);
  return largest === undefined ? undefined : whole(document, largest[0], base);
}

function body(document: Element, base: string): Found | undefined {
  const element = document.querySelector('body');
  return element === null ? undefined : whole(document, element, base);
}

function whole(document: Element, element: Element, base: string): Found {
  const title = oneLine(document.querySelector('title')?.textContent).slice(0, TITLE_LENGTH);
  for (const unwanted of element.querySelectorAll([...silent, ...furniture].join(','))) unwanted.remove();
  const text = toMarkdown(element.innerHTML, base);
  const titled = title !== '' && !text.includes(`# ${title}`);
  return { markdown: text !== '' && titled ? `# ${title}\n\n${text}` : text, length: visibleLength(element.textContent ?? '') };
}

/** linkedom adds none of `<html>`, `<head>` and `<body>` where they are left out, as they may be, and Readability needs all three. */
function parseDocument(html: string): Element {
  const root = /<html[\s>]/i.exec(html)?.index;
  const from = root === undefined ? 0 : html.indexOf('>', root) + 1;
  const content = html.slice(from);
  const headed = /<head[\s>]/i.test(content) ? content : withHead(content);
  const bodied = /<body[\s>]/i.test(headed) ? headed : headed.replace(/<\/head\s*>|$/i, (end) => `${end}<body>`);
  return (parseHTML(`${from === 0 ? '<html>' : html.slice(0, from)}${bodied}`) as unknown as { document: Element }).document;
}

/** What can only be in a head, and stands first, is the head. */
function withHead(content: string): string {
  const piece = /\s+|<![a-z][^>]*>|<!--[^]*?-->|<(?:meta|link|base)\b[^>]*>|<(title|style|script|noscript)\b[^>]*>[^]*?<\/\1\s*>/iy;
  let end = 0;
  while (piece.test(content)) end = piece.lastIndex;
  return `<head>${content.slice(0, end)}</head>${content.slice(end)}`;
}

function oneLine(text: string | null | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}
