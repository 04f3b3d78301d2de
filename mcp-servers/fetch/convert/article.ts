import { dropBoilerplate } from './boilerplate.ts';
import { elementsOf, isSilent, measure, type Element } from './tree.ts';

/** What of a page is left in its tree when parts are dropped. */
export interface Choice {
  /** what to show, without what is dropped in it */
  readonly root: Element;
  /** characters of it */
  readonly length: number;
}

/** A main element holds at least this share of a page's sentences, or is not what it says. */
const MAIN_SHARE = 0.5;
const ARTICLE_SHARE = 0.6;
/** Where one child holds so much of all sentences, its siblings have to be worth it. */
const DESCENT_SHARE = 0.85;
/** Beside the article: sentences of so many characters. */
const SIBLING_PROSE = 80;
/** Below this share of sentences a page is a list of links, and all of it counts. */
const LISTING = 0.25;
/** What is hidden is the page when it has so many times the sentences of what is shown. */
const HIDDEN_TIMES = 2;

/** Drops what a browser would not show. What a click unfolds is shown: tabs, answers below their questions. */
export function dropHidden(element: Element): void {
  for (const child of element.children) {
    if (typeof child === 'string') continue;
    if (isHidden(child)) child.dropped = true;
    else dropHidden(child);
  }
}

/** Takes back every decision. */
export function undrop(root: Element): void {
  for (const element of elementsOf(root)) element.dropped = false;
  measure(root);
}

function isHidden(element: Element): boolean {
  const { name, attributes } = element;
  if (name === 'body' || name === 'html' || isFolded(element)) return false;
  const { hidden, style } = attributes;
  if (hidden !== undefined) return hidden.toLowerCase() !== 'until-found';
  if (attributes['aria-hidden'] === 'true') return true;
  return style !== undefined && /(^|;)\s*(display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style);
}

/** Tabs, and answers below their questions. */
function isFolded({ attributes, prose, text, parent }: Element): boolean {
  if (attributes['role'] === 'tabpanel') return true;
  const names = `${attributes['class'] ?? ''} ${parent?.attributes['class'] ?? ''}`;
  return prose >= text / 2 && /accordion|collaps|expand|tab-?(pane|panel|content)|faq/i.test(names);
}

/** Whether the page's text is in what scripts would unhide: streamed, or waiting for them. */
export function livesHidden(shown: number, all: number): boolean {
  return all - shown > HIDDEN_TIMES * shown;
}

/**
 * Finds the content of a page in linear time: parts that sites repeat go first; then, from the page's main element on, the walk goes down
 * as long as one child holds nearly all sentences, and on the way keeps of the siblings those that are sentences too.
 * @param root measured
 * @param title of the page, in full
 */
export function choose(root: Element, title: string): Choice {
  dropBoilerplate(root, { prose: root.prose, title });
  measure(root);
  const start = startOf(root);
  if (start.prose > start.text * LISTING) {
    descend(start);
    measure(start);
  }
  return { root: start, length: start.text };
}

function startOf(root: Element): Element {
  const shown = [...elementsOf(root)].filter((element) => !element.dropped && element.text > 0 && !isSilent(element));
  const mains = shown.filter(({ name, attributes }) => name === 'main' || attributes['role'] === 'main');
  const articles = shown.filter(({ name, attributes }) => name === 'article' || attributes['itemprop'] === 'articleBody');
  const within = mains.find(({ text }) => text >= root.text * MAIN_SHARE) ?? root;
  return articles.find(({ prose }) => prose > 0 && prose >= within.prose * ARTICLE_SHARE && within.prose > within.text * LISTING) ?? within;
}

function descend(start: Element): void {
  const enough = start.prose * DESCENT_SHARE;
  let at: Element | undefined = start;
  while (at !== undefined) {
    const next: Element | undefined = elementsIn(at).find((child) => child.prose >= enough);
    if (next === undefined || !containers.test(next.name)) return;
    for (const sibling of elementsIn(at)) if (sibling !== next && !isWorthIt(sibling)) sibling.dropped = true;
    at = next;
  }
}

function elementsIn({ children }: Element): Element[] {
  return children.filter((child) => typeof child !== 'string' && !child.dropped) as Element[];
}

/** What pages are laid out with, custom elements included. */
const containers = /^(div|section|article|main|body|html|form|center|span|table|tbody|tr|td|a|.+-.+)$/;
const always = new Set('h1 h2 h3 p figure table pre blockquote dl details img picture time math'.split(' '));

function isWorthIt(element: Element): boolean {
  if (always.has(element.name)) return true;
  for (const { name, dropped } of elementsOf(element)) if (name === 'h1' && !dropped) return true;
  const isList = element.name === 'ul' || element.name === 'ol';
  return element.prose >= (isList ? 1 : SIBLING_PROSE) && element.prose >= element.text / 2;
}
