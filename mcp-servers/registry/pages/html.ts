/** Markup, as opposed to text that has yet to be escaped. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type Content = Html | string | number | undefined | readonly Content[];

/** Markup with everything that is filled in escaped, unless it is markup already. For element content and quoted attributes. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(parts.map((part, index) => part + markupOf(contents[index])).join(''));
}

function markupOf(content: Content): string {
  if (content === undefined) return '';
  if (typeof content === 'string' || typeof content === 'number') return escape(String(content));
  return content instanceof Html ? content.markup : content.map(markupOf).join('');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Control and format characters, which hide or move what stands around them; lines, tabs and what joins emoji and letters excepted. */
const UNSEEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Most text: nothing in it needs the slow look. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;

function escape(text: string): string {
  return (PLAIN.test(text) ? text : text.replaceAll(UNSEEN, '\ufffd')).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** A link to an address of somebody else, or its text alone when it is not one of the web. */
export function outsideLink(url: string, text: string): Html {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return html`<bdi>${text}</bdi>`;
  return html`<a href="${parsed.href}" rel="noreferrer noopener nofollow"><bdi>${text}</bdi></a>`;
}

/** At most `most` characters (UTF-16), with an ellipsis where some are missing. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
