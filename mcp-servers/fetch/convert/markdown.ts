import { codeOf, fenced, isBesideCode, languageOf } from './code.ts';
import { footnotesOf, type Footnotes } from './footnotes.ts';
import { Inline } from './inline.ts';
import type { Links } from './links.ts';
import { gridOf, tableOf } from './table.ts';
import { blocks, isSilent, lineOf, textOf, type Element, type Node } from './tree.ts';

/** Deeper lists and quotations are not indented further: each level copies what is in it. */
const MAX_INDENT = 16;
/** Frames within frames are not opened. */
const MAX_FRAMES = 20;

export interface MarkdownOptions {
  readonly links: Links;
  /** turns the document of a frame into a tree */
  readonly parse: (html: string) => Element | undefined;
  /** what is only for readers without scripts */
  readonly noscript: boolean;
}

/**
 * What is left of a page's tree as GitHub Flavored Markdown, with ATX headings as the incumbent has them. Links and images are absolute;
 * what leads nowhere outside a browser (`javascript:`, `data:`) is left out, its text kept. Time and memory are linear in the page.
 */
export function toMarkdown(root: Element, options: MarkdownOptions): string {
  return new Renderer(footnotesOf(root), options).blocks(root.children).join('\n\n').trim();
}

class Renderer {
  readonly #footnotes: Footnotes;
  readonly #options: MarkdownOptions;
  #indent = 0;
  #frames = 0;
  /** within a table or a heading there are no lines */
  #flat = 0;

  readonly #blocks = new Map<string, (element: Element, out: string[]) => void>([
    ...[1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, this.#heading.bind(this, level)] as const),
    ['ul', (element, out) => this.#list(element, out)],
    ['ol', (element, out) => this.#list(element, out)],
    ['menu', (element, out) => this.#list(element, out)],
    ['dl', (element, out) => this.#definitions(element, out)],
    ['pre', (element, out) => this.#code(element, out)],
    ['blockquote', (element, out) => this.#quotation(element, out)],
    ['table', (element, out) => this.#table(element, out)],
    ['summary', (element, out) => this.#label(element, out)],
    ['legend', (element, out) => this.#label(element, out)],
    ['hr', (_element, out) => void out.push('---')],
    ['a', (element, out) => this.#card(element, out)],
    ['li', (element, out) => void out.push(this.#item(element, '* '))],
    ['iframe', (element, out) => this.#frame(element, out)],
  ]);

  readonly #inlines = new Map<string, (element: Element, out: Inline) => void>([
    ...['b', 'strong'].map((name) => [name, this.#marked.bind(this, '**')] as const),
    ...['i', 'em', 'cite', 'dfn', 'var'].map((name) => [name, this.#marked.bind(this, '*')] as const),
    ...['s', 'del', 'strike'].map((name) => [name, this.#marked.bind(this, '~~')] as const),
    ...['code', 'kbd', 'samp', 'tt'].map((name) => [name, (element: Element, out: Inline) => this.#inlineCode(element, out)] as const),
    ['q', (element, out) => this.#between(element, out, ['“', '”'])],
    ['rt', (element, out) => this.#between(element, out, ['(', ')'])],
    ['rp', () => {}],
    ['br', (_element, out) => (this.#flat > 0 ? out.space() : out.lineBreak())],
    ['a', (element, out) => this.#link(element, out)],
    ['img', (element, out) => this.#image(element, out)],
    ['math', (element, out) => this.#math(element, out)],
    ['script', (element, out) => this.#script(element, out)],
    ['input', (element, out) => this.#checkbox(element, out)],
    ['noscript', (element, out) => this.#noscript(element, out)],
  ]);

  constructor(footnotes: Footnotes, options: MarkdownOptions) {
    this.#footnotes = footnotes;
    this.#options = options;
  }

  blocks(nodes: readonly Node[]): string[] {
    const out: string[] = [];
    let run: Node[] = [];
    const flush = (): void => {
      const text = run.length === 0 ? '' : this.#line(run);
      if (text !== '') out.push(escapedStart(text));
      run = [];
    };
    for (const node of nodes) {
      if (typeof node === 'string' || !this.#standsAlone(node)) run.push(node);
      else if (!node.dropped) {
        flush();
        this.#block(node, out);
      }
    }
    flush();
    return out;
  }

  #standsAlone({ name, holdsBlock, attributes }: Element): boolean {
    if (name === 'iframe') return attributes['srcdoc'] !== undefined;
    return blocks.has(name) || holdsBlock;
  }

  #block(element: Element, out: string[]): void {
    const render = this.#blocks.get(element.name);
    if (render !== undefined) render(element, out);
    else if (element.name === 'noscript' || !isSilent(element)) for (const block of this.blocks(element.children)) out.push(block);
  }

  #line(nodes: readonly Node[]): string {
    const line = new Inline();
    this.#inline(nodes, line);
    return line.text().replace(/ {2}\n\n+/g, '\n\n');
  }

  #inline(nodes: readonly Node[], out: Inline): void {
    for (const node of nodes) {
      if (typeof node === 'string') out.words(escaped(node));
      else if (!node.dropped) this.#inlineElement(node, out);
    }
  }

  #inlineElement(element: Element, out: Inline): void {
    const render = this.#inlines.get(element.name);
    if (render !== undefined) return render(element, out);
    if (isSilent(element)) return;
    const apart = blocks.has(element.name) || element.name === 'label';
    if (apart) out.space();
    this.#inline(element.children, out);
    if (apart) out.space();
  }

  #marked(mark: string, element: Element, out: Inline): void {
    const inner = new Inline();
    this.#inline(element.children, inner);
    // marks within marks of their kind would end them
    out.marked(inner, inner.text().includes(mark) ? '' : mark, inner.text().includes(mark) ? '' : mark);
  }

  #between(element: Element, out: Inline, [open, close]: readonly [string, string]): void {
    const inner = new Inline();
    this.#inline(element.children, inner);
    out.marked(inner, open, close);
  }

  #inlineCode(element: Element, out: Inline): void {
    const text = lineOf(textOf(element));
    if (text === '') return;
    const ticks = '`'.repeat(longestRun(text) + 1);
    const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
    out.write(`${ticks}${pad}${text}${pad}${ticks}`);
  }

  #link(element: Element, out: Inline): void {
    const note = this.#footnotes.referenceOf(element);
    if (note !== undefined) return out.write(`[^${note}]`);
    if (this.#footnotes.leadsBack(element)) return;
    const inner = new Inline();
    this.#inline(element.children, inner);
    const href = this.#options.links.resolve(element.attributes['href']);
    if (href === undefined || inner.text() === '') return out.marked(inner, '', '');
    if (out.endsWithLink) out.space();
    out.marked(inner, '[', `](${href})`);
  }

  #image({ attributes, parent }: Element, out: Inline): void {
    if (isTrackingPixel(attributes)) return;
    const alt = lineOf(attributes['alt']);
    const source = sourceOf(attributes) ?? sourceOf(parent?.name === 'picture' ? pictureSource(parent) : {});
    const href = this.#options.links.resolve(source);
    if (href !== undefined) out.write(`![${alt}](${href})`);
    else if (alt !== '') out.words(alt);
  }

  #math(element: Element, out: Inline): void {
    const source = texOf(element);
    if (source === undefined) return this.#inline(element.children, out);
    const mark = element.attributes['display'] === 'block' ? '$$' : '$';
    out.write(`${mark}${source}${mark}`);
  }

  #script({ attributes, children: [source] }: Element, out: Inline): void {
    if (/^math\/tex/i.test(attributes['type'] ?? '') && typeof source === 'string') out.write(`$${lineOf(source)}$`);
  }

  #checkbox({ attributes, parent }: Element, out: Inline): void {
    if (attributes['type'] !== 'checkbox' || parent === undefined || !/^(li|p|label)$/.test(parent.name)) return;
    out.write(attributes['checked'] === undefined ? '[ ]' : '[x]');
    out.space();
  }

  /** Images that scripts load late stand here as well. */
  #noscript(element: Element, out: Inline): void {
    if (this.#options.noscript) this.#inline(element.children, out);
  }

  #heading(level: number, element: Element, out: string[]): void {
    this.#flat += 1;
    const text = this.#line(element.children.filter((child) => typeof child === 'string' || !isAnchor(child)));
    this.#flat -= 1;
    if (text !== '') out.push(`${'#'.repeat(level)} ${text}`);
  }

  #label(element: Element, out: string[]): void {
    const text = this.#line(element.children);
    if (text !== '') out.push(element.holdsBlock ? text : `**${text}**`);
  }

  /** A link around blocks: their first line carries it. */
  #card(element: Element, out: string[]): void {
    const inner = this.blocks(element.children);
    const href = this.#options.links.resolve(element.attributes['href']);
    const at = inner.findIndex((block) => !block.startsWith('![') && !block.includes('\n'));
    const [, marks = '', text = ''] = /^(#{1,6} )?(.*)$/.exec(inner[at] ?? '') ?? [];
    if (href !== undefined && at >= 0 && !text.includes('](')) inner[at] = `${marks}[${text}](${href})`;
    for (const block of inner) out.push(block);
  }

  #code(element: Element, out: string[]): void {
    const code = isBesideCode(element) ? '' : codeOf(element);
    if (code.trim() !== '') out.push(fenced(code, languageOf(element)));
  }

  #quotation(element: Element, out: string[]): void {
    const text = this.#indented(() => this.blocks(element.children).join('\n\n'));
    if (text === '') return;
    out.push(this.#indent >= MAX_INDENT ? text : text.replace(/^(?!$)/gm, '> ').replace(/^$/gm, '>'));
  }

  #list(list: Element, out: string[]): void {
    const items: string[] = [];
    let number = startOf(list);
    for (const child of list.children) {
      if (typeof child === 'string') items.push(this.#line([child]));
      else if (child.dropped) continue;
      else if (child.name !== 'li') items.push(...this.#indented(() => this.blocks([child])));
      else {
        items.push(this.#item(child, list.name === 'ol' ? `${number}. ` : '* '));
        number += 1;
      }
    }
    const written = items.filter((item) => item !== '');
    if (written.length > 0) out.push(joined(written));
  }

  #item(element: Element, plain: string): string {
    const note = this.#footnotes.labelOf(element);
    const marker = note === undefined ? plain : `[^${note}]: `;
    const content = this.#indented(() => this.blocks(element.children));
    if (content.length === 0) return '';
    const [first = '', ...rest] = content;
    const text = rest.reduce((all, block) => `${all}${isList(block) ? '\n' : '\n\n'}${block}`, first);
    const width = this.#indent >= MAX_INDENT ? 0 : note === undefined ? marker.length : 4;
    return marker + text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(width)}`);
  }

  #definitions(list: Element, out: string[]): void {
    const lines: string[] = [];
    const see = (element: Element): void => {
      for (const child of element.children) {
        if (typeof child === 'string' || child.dropped) continue;
        if (child.name === 'div') see(child);
        else lines.push(...this.#definition(child));
      }
    };
    see(list);
    if (lines.length > 0) out.push(lines.join('\n').trim());
  }

  #definition(element: Element): string[] {
    const content = this.#indented(() => this.blocks(element.children)).join('\n\n');
    if (content === '') return [];
    if (element.name === 'dt') return ['', /^[*#]/.test(content) ? content : `**${content}**`];
    return [`: ${content.replace(/\n(?=[^\n])/g, '\n  ')}`];
  }

  #table(element: Element, out: string[]): void {
    const grid = gridOf(element);
    for (const block of this.blocks(grid.captions)) out.push(block);
    if (grid.isLayout) {
      for (const cell of grid.rows.flat()) for (const block of this.blocks(cell.element.children)) out.push(block);
      return;
    }
    this.#flat += 1;
    const text = tableOf(grid, (cell) => this.#cell(cell));
    this.#flat -= 1;
    if (text !== '') out.push(text);
  }

  /** A cell is one line, whatever is in it; a table within it too. */
  #cell(cell: Element): string {
    if (!cell.holdsBlock) return this.#line(cell.children);
    const parts: string[] = [];
    const see = (element: Element): void => {
      if (element.name === 'tr') parts.push(rowLine(element, (inner) => this.#line(inner.children)));
      else if (element.name === 'pre') parts.push(`\`${lineOf(codeOf(element))}\``);
      else parts.push(...this.#pieces(element, see));
    };
    see(cell);
    return parts.filter((part) => part !== '').join('<br>');
  }

  /** The lines of an element that holds both, blocks and text between them. */
  #pieces({ children }: Element, see: (element: Element) => void): string[] {
    const run: Node[] = [];
    const lines: string[] = [];
    for (const child of children) {
      if (typeof child === 'string' || !this.#standsAlone(child)) run.push(child);
      else if (!child.dropped) {
        lines.push(this.#line(run.splice(0)));
        if (lines.at(-1) === '') lines.pop();
        see(child);
      }
    }
    return [...lines, this.#line(run)];
  }

  #frame({ attributes }: Element, out: string[]): void {
    this.#frames += 1;
    if (this.#frames > MAX_FRAMES) return;
    const tree = this.#options.parse(attributes['srcdoc'] ?? '');
    if (tree !== undefined) for (const block of this.blocks(tree.children)) out.push(block);
  }

  #indented<T>(render: () => T): T {
    this.#indent += 1;
    try {
      return render();
    } finally {
      this.#indent -= 1;
    }
  }
}

/** Items of one line each stand close together. */
function joined(items: readonly string[]): string {
  let [before = ''] = items;
  const parts = [before];
  for (const item of items.slice(1)) {
    parts.push(isLoose(before) ? '\n\n' : '\n', item);
    before = item;
  }
  return parts.join('');
}

function isLoose(item: string): boolean {
  return item.includes('\n\n');
}

function isList(block: string): boolean {
  return /^(\* |\d{1,9}\. )/.test(block);
}

/** Markdown's numbers have no sign, and nine digits at most. */
function startOf(list: Element): number {
  return Number(/^\s*\d{1,9}(?!\d)/.exec(list.attributes['start'] ?? '')?.[0] ?? 1);
}

function rowLine(row: Element, render: (cell: Element) => string): string {
  const cells = row.children.filter((child) => typeof child !== 'string' && !child.dropped) as Element[];
  return cells.map(render).join('; ');
}

export function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).slice(0, 1000).map((run) => run.length));
}

/** What would open a mark where the page has the character itself. */
function escaped(text: string): string {
  return /[*_`]/.test(text) ? text.replace(/(?<![\w*_`])([*_]+)(?=[^\s*_])|`/g, (mark) => mark.replaceAll(/./g, '\\$&')) : text;
}

/** What would make a heading, a list or a quotation of a paragraph. */
function escapedStart(text: string): string {
  return text.replace(/^(#{1,6}|>|[-+])(?=\s)/, '\\$1').replace(/^(\d{1,9})\.(?=\s)/, '$1\\.');
}

/** A sign beside a heading that links to the heading itself. */
function isAnchor({ name, attributes, text }: Element): boolean {
  return name === 'a' && text <= 2 && attributes['href']?.startsWith('#') === true;
}

function isTrackingPixel({ width, height }: Element['attributes']): boolean {
  return /^[01](px)?$/.test(width ?? '') || /^[01](px)?$/.test(height ?? '');
}

/** Images that come late have their address elsewhere. */
function sourceOf(attributes: Element['attributes']): string | undefined {
  const { src, srcset } = attributes;
  const late = attributes['data-src'] ?? attributes['data-original'] ?? attributes['data-lazy-src'];
  const candidates = [src, late, firstOf(srcset ?? attributes['data-srcset'])];
  return candidates.find((source) => source !== undefined && source.trim() !== '' && !source.startsWith('data:'));
}

function firstOf(srcset: string | undefined): string | undefined {
  return srcset === undefined ? undefined : /^[\s,]*(\S+)/.exec(srcset)?.[1]?.replace(/,$/, '');
}

function pictureSource({ children }: Element): Element['attributes'] {
  for (const child of children) if (typeof child !== 'string' && child.name === 'source') return child.attributes;
  return {};
}

/** Formulas carry their TeX for those who do not draw them. */
function texOf(element: Element): string | undefined {
  for (const child of element.children) {
    if (typeof child === 'string') continue;
    if (child.name === 'annotation' && child.attributes['encoding'] === 'application/x-tex') return lineOf(textOf(child));
    const inner = texOf(child);
    if (inner !== undefined) return inner;
  }
  return undefined;
}
