import { gfm } from '@joplin/turndown-plugin-gfm';
import TurndownService from 'turndown';
import { absolute } from './linear.ts';

/** The little of an element that rules look at; the project compiles without the browser's types. */
interface Element {
  readonly nodeName: string;
  readonly parentNode: Element;
  readonly nextSibling: object | null;
  getAttribute(name: string): string | null;
}

/**
 * HTML as GitHub Flavored Markdown, with ATX headings as the incumbent has them. Links and images are absolute; what leads nowhere
 * outside a browser (`javascript:`, `data:`) is left out, its text kept.
 */
export function toMarkdown(html: string, base: string): string {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
    hr: '---',
  });
  service.use(gfm);
  service.remove(['script', 'style', 'noscript', 'template', 'iframe', 'object', 'canvas', 'select', 'title'] as never);
  service.addRule('item', { filter: 'li', replacement: listItem() });
  service.addRule('link', {
    filter: (node) => node.nodeName === 'A' && node.getAttribute('href') !== null,
    replacement: (content, node: Element) => {
      const href = absolute(node.getAttribute('href'), base);
      const text = content.trim();
      return href === undefined || text === '' ? content : content.replace(text, () => `[${text}](${href})`);
    },
  });
  service.addRule('image', {
    filter: 'img',
    replacement: (_content, node: Element) => {
      const alt = (node.getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim();
      const src = absolute(node.getAttribute('src'), base);
      return src === undefined ? alt : `![${alt}](${src})`;
    },
  });
  return service.turndown(html).trim();
}

/**
 * `* text` and `1. text`, where turndown alone would indent by four columns, and look for each item among all its siblings. Items come
 * in the order of the document.
 */
function listItem(): (content: string, node: Element) => string {
  const counted = new WeakMap<object, number>();
  return (content, { parentNode: list, nextSibling }) => {
    const count = (counted.get(list) ?? 0) + 1;
    counted.set(list, count);
    const marker = list.nodeName === 'OL' ? `${startOf(list) + count - 1}. ` : '* ';
    const lines = content.trim().replace(/\n(?=[^\n])/g, `\n${' '.repeat(marker.length)}`);
    return `${marker}${lines}${content.endsWith('\n') && content.trim() !== '' && nextSibling !== null ? '\n' : ''}${nextSibling === null ? '' : '\n'}`;
  };
}

/** Markdown's numbers have no sign, and nine digits at most. */
function startOf(list: Element): number {
  return Number(/^\s*\d{1,9}(?!\d)/.exec(list.getAttribute('start') ?? '')?.[0] ?? 1);
}
