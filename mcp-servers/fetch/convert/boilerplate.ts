import { elementsOf, lineOf, textOf, type Element } from './tree.ts';

/** Words of class names and ids, by which sites name what is on all of their pages. */
const words = new Set(
  (
    'ad ads advert adverts advertisement advertising adslot breadcrumb breadcrumbs consent cookie cookies copyright disqus editsection gdpr ' +
    'headerlink login masthead menu modal nav navbar navigation newsletter noprint outbrain pager pagination paginator paywall permalink popular ' +
    'popup promo promos promotion recirculation recommendation recommendations recommended related share sharebar sharing sidebar signin signup skip ' +
    'skiplink social sponsor sponsored subscribe subscription taboola toc toolbar tracking trending upsell feedback helpful'
  ).split(' '),
);
/** As far as these go, one word says nothing. */
const phrases =
  /(^|[\s_-])(sr-only|visually-?hidden|screen-reader(-text)?|back-?to-?top|site-(header|footer)|page-(header|footer)|global-(header|footer)|read-?next|see-?more|more-(from|stories)|table-of-contents|on-this-page|copy-?(button|btn|code)|anchor-?link|edit-(page|link|this)|ad-(slot|unit|container|wrapper)|print-only|widget-area|author-(bio|box)|post-(tags|nav|navigation)|tag-?(list|cloud)|footer|header-(nav|links)|utility-bar|hatnote|mw-jump-link|vote-?(buttons?|count)?|votes?)(?=$|[\s_-])/;
const roles = new Set(
  'navigation banner contentinfo search complementary menu menubar toolbar dialog alertdialog tooltip tablist'.split(' '),
);
/** What such words can name; on a paragraph or a cell they are about its content. */
const containers = new Set('a aside button dl div figure footer form header iframe li nav ol p section small span table ul'.split(' '));
/** What a heading says above what is on all pages of a site. */
const headings =
  /^(related|popular|trending|recommended|most (read|popular|viewed)|more (from|in|on|stories|articles|posts|like)|you (may|might) also|customers (who|also)|people also|read (next|more|also)|up next|latest (news|posts|stories|articles)|recent (posts|articles|comments)|hot (network )?questions|share( this)?|newsletter|subscribe|stay (informed|in touch)|follow us|sign up|join (our|the) |advertisement|sponsored|leave a (reply|comment)|about the author|was this (page )?helpful|table of contents|on this page|in this (article|section)|contents$|tags:?$|categories$|archives$|site links|navigation)/i;
const labels =
  /^(advertisement|sponsored( content)?|ad|skip to (main )?content|back to top|share|tweet|print|copy|edit|\[edit\]|read more|¶|#)$/i;
const MAX_LABEL = 24;

/** A part that holds so much of a page's sentences is its content, whatever it is called. */
const MAX_SHARE = 0.3;
/** From here on a list is one of links. */
const LINKS = 0.5;

/** What a part is compared with. */
export interface Whole {
  readonly prose: number;
  readonly title: string;
}

/** Drops the parts of a page that are on every page of its site. The counts of the elements have to be those of the whole page. */
export function dropBoilerplate(element: Element, whole: Whole): void {
  for (const child of element.children) {
    if (typeof child === 'string' || child.dropped) continue;
    if (isBoilerplate(child, whole)) child.dropped = true;
    else dropBoilerplate(child, whole);
  }
  dropHeadedLists(element);
}

function isBoilerplate(element: Element, { prose, title }: Whole): boolean {
  const { name, text } = element;
  if (pages.has(name)) return false;
  if (name === 'nav' || isLabel(element) || isButton(element)) return true;
  if (isStructural(element) || isNamedSo(element)) return element.prose <= prose * MAX_SHARE && !holdsTitle(element, title);
  return text > 0 && /^(div|section)$/.test(name) && isHeadedSo(element, prose);
}

/** Whatever they are called. */
const pages = new Set(['html', 'body', 'main']);

/** By what it is, not by its name. */
function isStructural(element: Element): boolean {
  const { name, attributes } = element;
  if (name === 'footer') return !isWithin(element, 'blockquote', 'figure');
  if (name === 'header') return !isWithin(element, 'main', 'article');
  if (name === 'aside') return !isWithin(element, 'main', 'article') || element.prose < element.text * LINKS || hasForm(element);
  if (name === 'form') return hasForm(element);
  if (name === 'dialog') return attributes['open'] === undefined;
  return roles.has(attributes['role'] ?? '');
}

function isNamedSo({ name, attributes }: Element): boolean {
  if (!containers.has(name)) return false;
  const names = `${attributes['class'] ?? ''} ${attributes['id'] ?? ''}`;
  if (names.length === 1) return false;
  if (phrases.test(names.toLowerCase())) return true;
  return names.split(/[\s_:/-]+|(?<=[a-z])(?=[A-Z])/).some((word) => words.has(word.toLowerCase()));
}

function isLabel({ name, text, holdsBlock, children }: Element): boolean {
  if (text === 0 || text > MAX_LABEL || holdsBlock || !/^(a|p|div|span|small|li)$/.test(name)) return false;
  const own = lineOf(children.map((child) => (typeof child === 'string' ? child : textOf(child))).join(''));
  return labels.test(own) && (name !== 'li' || own.length > 2);
}

/** A link that is made to look like a button asks for something; what it offers to download is content. */
function isButton({ name, attributes, text, parent }: Element): boolean {
  if (name !== 'a' || text > MAX_LABEL || !/(^|[\s_-])(btn|button|cta)(?=$|[\s_-])/i.test(attributes['class'] ?? '')) return false;
  return parent?.text === text && !/\.\w{2,4}([?#]|$)|download|release/i.test(attributes['href'] ?? '');
}

function isHeadedSo(element: Element, total: number): boolean {
  if (element.prose > total * MAX_SHARE) return false;
  for (const inner of elementsOf(element)) {
    if (/^h[1-6]$/.test(inner.name)) return headings.test(lineOf(textOf(inner)));
    if (inner.text > 0 && inner.prose > MAX_LABEL) return false;
  }
  return false;
}

/** A heading and the list of links right after it. */
function dropHeadedLists({ children }: Element): void {
  const elements = children.filter((child) => typeof child !== 'string');
  elements.forEach((heading, index) => {
    const next = elements[index + 1];
    if (next === undefined || !/^h[1-6]$/.test(heading.name) || next.linked < next.text * LINKS) return;
    if (headings.test(lineOf(textOf(heading)))) heading.dropped = next.dropped = true;
  });
}

function holdsTitle(element: Element, title: string): boolean {
  if (element.name === 'footer') return false;
  for (const inner of elementsOf(element))
    if (inner.name === 'h1' && inner.text > 0 && !isSiteName(lineOf(textOf(inner)), title)) return true;
  return false;
}

/** `Gearbox whines - Old Vans Forum`: the heading that such a title ends with is the site's. */
export function isSiteName(heading: string, title: string): boolean {
  return title.endsWith(heading) && title.length > heading.length && !title.startsWith(heading);
}

function hasForm(element: Element): boolean {
  for (const { name, attributes } of elementsOf(element)) {
    if (name === 'input' && /^(search|email|password|text)?$/.test(attributes['type'] ?? '')) return true;
    if (name === 'textarea' || name === 'select') return true;
  }
  return false;
}

export function isWithin({ parent }: Element, ...names: readonly string[]): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (names.includes(above.name)) return true;
  return false;
}
