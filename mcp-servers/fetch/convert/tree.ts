import { Parser } from 'htmlparser2';

/** One element of a page. The counts are of characters that are not white space, its descendants' included. */
export class Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly parent: Element | undefined;
  readonly children: Node[] = [];
  /** all elements of the page, in its order; those below this one stand from `first` to before `end` */
  readonly page: Element[];
  readonly first: number;
  end = 0;
  /** everything that can be read */
  text = 0;
  /** of that, in links */
  linked = 0;
  /** of that, in sentences: not in links, unless these stand within a paragraph */
  prose = 0;
  /** whether something in it stands on lines of its own */
  holdsBlock = false;
  /** left out of what is shown */
  dropped = false;

  constructor(name: string, attributes: Readonly<Record<string, string>>, parent: Element | undefined) {
    this.name = name;
    this.attributes = attributes;
    this.parent = parent;
    this.page = parent?.page ?? [];
    this.first = this.page.length + (parent === undefined ? 0 : 1);
    if (parent !== undefined) this.page.push(this);
  }
}

export type Node = Element | string;

/** Recursion over a tree goes as deep as the tree; pages that people read stay below 100. */
export const MAX_DEPTH = 256;
/** Four times those of an article of 1 MB; each takes 300 bytes. */
export const MAX_ELEMENTS = 100_000;
/** A page with more on one element is built to be slow. */
const MAX_ATTRIBUTES = 256;
const CHUNK = 64 * 1024;

/** Elements that stand on lines of their own. */
export const blocks: ReadonlySet<string> = new Set(
  'address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav noframes ol p pre search section summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
);

/** Elements that hold no text of the page. */
export const silent: ReadonlySet<string> = new Set(
  'audio button canvas datalist iframe input map noscript object option progress script select style svg template textarea title video'.split(
    ' ',
  ),
);

/**
 * A page as a tree, in one pass that is linear in its length; undefined for one that is deeper or larger than trees are good for.
 * The parser looks through its open elements at each end tag, which is linear only because the depth is bounded.
 */
export function parseTree(html: string): Element | undefined {
  const builder = new Builder();
  for (let start = 0; start < html.length && builder.fits; start += CHUNK) builder.parser.write(html.slice(start, start + CHUNK));
  if (builder.fits) builder.parser.end();
  builder.root.end = builder.root.page.length;
  return builder.fits ? builder.root : undefined;
}

class Builder {
  fits = true;
  readonly root = new Element('#root', {}, undefined);
  readonly parser: Parser;
  #open = this.root;
  #depth = 0;
  #elements = 0;
  #attributes = 0;

  constructor() {
    this.parser = new Parser({
      onopentagname: () => {
        this.#attributes = 0;
      },
      onattribute: () => {
        this.#attributes += 1;
        this.#check(this.#attributes <= MAX_ATTRIBUTES);
      },
      onopentag: (name, attributes) => {
        const element = new Element(name, attributes, this.#open);
        this.#open.children.push(element);
        this.#open = element;
        this.#depth += 1;
        this.#elements += 1;
        this.#check(this.#depth <= MAX_DEPTH && this.#elements <= MAX_ELEMENTS);
      },
      onclosetag: () => {
        this.#open.end = this.root.page.length;
        this.#open = this.#open.parent ?? this.root;
        this.#depth -= 1;
      },
      ontext: (text) => {
        const { children } = this.#open;
        const last = children.length - 1;
        // entities come by themselves
        if (typeof children[last] === 'string') children[last] += text;
        else children.push(text);
      },
    });
  }

  #check(fits: boolean): void {
    if (fits) return;
    this.fits = false;
    this.parser.pause();
  }
}

/** All elements below one, in the order of the document. */
export function* elementsOf({ page, first, end }: Element): Generator<Element> {
  for (let at = first; at < end; at += 1) yield page[at] as Element;
}

/** Text of an element as it stands in the source, what is silent left out. */
export function textOf(element: Element): string {
  let text = '';
  for (const child of element.children) {
    if (typeof child === 'string') text += child;
    else if (!silent.has(child.name) && !child.dropped) text += textOf(child);
  }
  return text;
}

/** Text on one line. */
export function lineOf(text: string | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

const BLANK = 0x20;
const NO_BREAK_SPACE = 0xa0;

/** Characters that are not white space. */
export function visibleLength(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > BLANK && code !== NO_BREAK_SPACE) count += 1;
  }
  return count;
}

/** Elements whose links belong to their sentences. */
const sentences = new Set(['p', 'li', 'td', 'th', 'dd', 'blockquote', 'figcaption', 'caption']);
/** Of a sentence not more than this is links. */
const MAX_LINKED = 0.5;

/** Counts what elements hold, without what was dropped. */
export function measure(element: Element): void {
  let [text, linked, prose] = [0, 0, 0];
  element.holdsBlock = false;
  for (const child of element.children) {
    if (typeof child === 'string') {
      const length = visibleLength(child);
      text += length;
      prose += length;
    } else if (!child.dropped && !isSilent(child)) {
      measure(child);
      text += child.text;
      linked += child.linked;
      prose += child.prose;
      element.holdsBlock ||= child.holdsBlock || blocks.has(child.name);
    }
  }
  [element.text, element.linked, element.prose] = [text, linked, prose];
  judge(element);
}

/** All of a link is linked; what is linked in a sentence is still one. */
function judge(element: Element): void {
  const { name, text, linked, attributes } = element;
  if (name === 'a' && attributes['href'] !== undefined) [element.linked, element.prose] = [text, 0];
  else if (sentences.has(name) && linked < text * MAX_LINKED) element.prose = text;
}

/** A button that stands for a heading or a question says it; a template that is somebody's shadow is shown. */
export function isSilent({ name, attributes, parent }: Element): boolean {
  if (!silent.has(name)) return false;
  if (name === 'template') return attributes['shadowrootmode'] === undefined && attributes['shadowroot'] === undefined;
  if (name === 'button') return parent === undefined || !/^(h[1-6]|dt|summary|legend)$/.test(parent.name);
  return true;
}
