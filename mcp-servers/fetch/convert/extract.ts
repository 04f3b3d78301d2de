import { factsOf, type About, type Facts } from './about.ts';
import { choose, dropHidden, livesHidden, undrop, type Choice } from './article.ts';
import { sentencesIn } from './embedded.ts';
import { linearText } from './linear.ts';
import { Links } from './links.ts';
import { toMarkdown } from './markdown.ts';
import { elementsOf, lineOf, measure, parseTree, type Element } from './tree.ts';

/**
 * How a page's text was found: `article` of what a browser shows; `hidden` with what scripts would unhide; `body` with all of its
 * furniture; `data` in what it carries for its scripts; `linear` without a tree.
 */
export type Method = 'article' | 'hidden' | 'body' | 'data' | 'linear';

export interface Extracted {
  /** Markdown; empty when the page has no text at all */
  readonly markdown: string;
  readonly method: Method;
  readonly about: About;
}

/** An article of this many characters is one, even if the page has much more around it. */
const ARTICLE_LENGTH = 200;
/** Less of the page than this is a teaser or a cookie notice, not its article. */
const ARTICLE_SHARE = 0.05;
/** A short article has to be most of a short page. */
const SHORT_SHARE = 0.5;
/** A byline that stands so near the beginning is not said again, characters. */
const FRONT = 1500;

/**
 * The text of a page as Markdown: its article; when that is next to nothing of what the page holds, what is hidden too, then all of its
 * body, then what its data says. A page with text never comes out empty. Linear in time and memory.
 * @param base the page's URL, for its links
 */
export function extract(html: string, base: string): Extracted {
  const root = parseTree(html);
  if (root === undefined) return linear(html, base);
  measure(root);
  const facts = factsOf(root);
  const page: Page = { root, facts, links: new Links(URL.parse(facts.base ?? '', base)?.href ?? base) };
  const found = staged(page);
  if (found !== undefined) return { ...found, about: aboutOf(facts) };
  return { ...linear(html, base), about: aboutOf(facts) };
}

/** The same without any tree: never slow, whatever the page. */
export function linear(html: string, base: string): Extracted {
  return { markdown: linearText(html, base), method: 'linear', about: {} };
}

/** Whether so many characters of text stand for a page that holds `all`. */
export function isEnough(length: number, all: number): boolean {
  return length > 0 && (length >= all * SHORT_SHARE || (length >= ARTICLE_LENGTH && length >= all * ARTICLE_SHARE));
}

interface Page {
  readonly root: Element;
  readonly facts: Facts;
  readonly links: Links;
}

type Found = Omit<Extracted, 'about'>;

function staged(page: Page): Found | undefined {
  const { root } = page;
  const all = { text: root.text, prose: root.prose };
  const about = textWithoutFurniture(root);
  dropHidden(root);
  measure(root);
  if (!livesHidden(root.prose, all.prose)) {
    const choice = choose(root, page.facts.fullTitle ?? '');
    const markdown = isEnough(choice.length, about) ? written(page, choice) : '';
    if (markdown !== '') return { markdown, method: 'article' };
  }
  undrop(root);
  const choice = choose(root, page.facts.fullTitle ?? '');
  const markdown = isEnough(choice.length, about) ? written(page, choice) : '';
  if (markdown !== '') return { markdown, method: 'hidden' };
  undrop(root);
  return whole(page);
}

/** Nothing is left out any more; the notice that scripts are needed comes only when there is nothing else. */
function whole(page: Page): Found | undefined {
  const { root, links } = page;
  const data = sentencesIn(root)
    .map((text) => rendered(text, links))
    .filter((text) => text !== '')
    .join('\n\n');
  if (data.length > root.text * 2) return { markdown: withFront(page, data), method: 'data' };
  const markdown = written(page, { root, length: root.text }) || written(page, { root, length: root.text }, true);
  return markdown === '' ? undefined : { markdown, method: 'body' };
}

/** What data says is plain text or HTML. */
function rendered(text: string, links: Links): string {
  if (!/<\w+[^>]*>/.test(text)) return text.replace(/[^\S\n]+/g, ' ').trim();
  const tree = parseTree(text);
  if (tree === undefined) return '';
  measure(tree);
  return toMarkdown(tree, { links, parse: () => undefined, noscript: false });
}

function written(page: Page, { root }: Choice, noscript = false): string {
  const markdown = toMarkdown(root, { links: page.links, parse: parseFrame, noscript: noscript || root.text > 0 });
  return markdown === '' ? '' : withFront(page, markdown);
}

function parseFrame(html: string): Element | undefined {
  const tree = parseTree(html);
  if (tree !== undefined) measure(tree);
  return tree;
}

/** The title, and who wrote it when, where the text itself does not begin with them. */
function withFront({ facts }: Page, markdown: string): string {
  const start = markdown.slice(0, FRONT).toLowerCase();
  const about = [facts.byline, facts.published].filter((line) => line !== undefined && !start.includes(line.toLowerCase()));
  const title = titleFor(facts, markdown);
  const front = [title === undefined ? '' : `# ${title}`, about.length === 0 || title === undefined ? '' : about.join(', ')];
  return [...front.filter((line) => line !== ''), markdown].join('\n\n');
}

function titleFor({ heading, title }: Facts, markdown: string): string | undefined {
  if (/^# \S/m.test(markdown.slice(0, FRONT))) return undefined;
  const wanted = heading ?? title;
  return wanted === undefined || wanted === '' || markdown.slice(0, FRONT).includes(`# ${wanted}`) ? undefined : wanted;
}

/** Characters outside of what a site repeats. */
function textWithoutFurniture(root: Element): number {
  let length = root.text;
  for (const element of elementsOf(root))
    if ((element.name === 'nav' || element.name === 'footer') && !isRepeated(element)) length -= element.text;
  return length;
}

function isRepeated({ parent }: Element): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (above.name === 'nav' || above.name === 'footer') return true;
  return false;
}

function aboutOf({ heading, title = heading, byline, published, language, site }: Facts): About {
  const entries = Object.entries({ title, byline, published, language, site }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, lineOf(value)]));
}
