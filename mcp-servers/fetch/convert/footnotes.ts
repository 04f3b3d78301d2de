import { elementsOf, lineOf, textOf, type Element } from './tree.ts';

/** Which links of a page refer to its footnotes, and which elements these are. */
export interface Footnotes {
  /** what a link is called that refers to one: `1` */
  referenceOf(link: Element): string | undefined;
  /** what a footnote is called */
  labelOf(element: Element): string | undefined;
  /** whether a link leads from a footnote back to its reference */
  leadsBack(link: Element): boolean;
}

/** Characters of a mark, brackets included. */
const MAX_MARK = 14;
const MARK = /^\[?\(?([\p{L}\p{N}*†‡§-]{1,12})\)?\]?$/u;
const BACK = /^(?:\s|\u21A9|\u2191|\^|\uFE0E|\uFE0F|\u2934|\u21B5)+$/u;

/** A footnote is an item of a list that a raised link, or one that says so, leads to. */
export function footnotesOf(root: Element): Footnotes {
  const items = new Set<string>();
  const known = new Set<Element>();
  for (const element of elementsOf(root)) {
    if (element.name === 'li') items.add(element.attributes['id'] ?? '');
    else if (element.name === 'a' && isReference(element)) known.add(element);
  }
  const labels = labelsOf(known, items);
  return {
    referenceOf: (link) => (known.has(link) ? labels.get(targetOf(link) ?? '') : undefined),
    labelOf: ({ attributes: { id } }) => (id === undefined ? undefined : labels.get(id)),
    leadsBack: (link) => labels.size > 0 && targetOf(link) !== undefined && BACK.test(textOf(link)),
  };
}

function labelsOf(references: ReadonlySet<Element>, items: ReadonlySet<string>): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (const link of references) {
    const target = targetOf(link) ?? '';
    const label = MARK.exec(lineOf(textOf(link)))?.[1];
    if (target !== '' && label !== undefined && items.has(target) && !labels.has(target)) labels.set(target, label);
  }
  return labels;
}

function targetOf({ attributes: { href } }: Element): string | undefined {
  return href !== undefined && href.startsWith('#') && href.length > 1 ? href.slice(1) : undefined;
}

function isReference(link: Element): boolean {
  if (targetOf(link) === undefined || link.text === 0 || link.text > MAX_MARK) return false;
  const { class: names = '', role } = link.attributes;
  return role === 'doc-noteref' || /footnote|noteref/i.test(names) || isRaised(link.parent) || holdsSup(link);
}

function isRaised(element: Element | undefined): boolean {
  return element?.name === 'sup' || element?.parent?.name === 'sup';
}

function holdsSup({ children }: Element): boolean {
  return children.some((child) => typeof child !== 'string' && child.name === 'sup');
}
