import { labelToName } from '@exodus/bytes/encoding-lite.js';
import { computedMIMEType, MIMEType } from 'whatwg-mimetype';

/** What a page consists of, by its bytes: `text` is shown as it is, `image` as one, `binary` not at all. */
export type Kind = 'html' | 'xml' | 'text' | 'pdf' | 'image' | 'binary';

export interface Content {
  readonly kind: Kind;
  /** `image/png`: as announced, or as recognised where nothing telling was announced */
  readonly type: string;
  /** the charset that was announced, if any */
  readonly charset: string | undefined;
}

/** Images that models take. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const GENERIC = new Set(['application/octet-stream', 'application/unknown', 'unknown/unknown', '*/*']);

/**
 * Judges content by its first bytes (WHATWG MIME Sniffing, with the rules for an unknown type): a Content-Type alone makes neither a PNG
 * text nor a text a PNG. Of text, `text/html`, XHTML and whatever opens with an `<html>` tag is HTML.
 * @param head the first 1,445 decoded bytes
 */
export function contentOf(head: Uint8Array, contentType: string | undefined): Content {
  const announced = contentType === undefined ? null : MIMEType.parse(contentType);
  const sniffed = computedMIMEType(head, {});
  const charset = announced?.parameters.get('charset');
  const telling = announced !== null && !GENERIC.has(announced.essence);
  const type = telling ? announced.essence : sniffed.essence;
  const isText = sniffed.type === 'text' || isUtf16(charset);
  if (isText) return { kind: textKind(announced, sniffed, head), type, charset };
  const kind = otherKind(sniffed, announced, head);
  return { kind, type: kind === 'binary' && telling ? type : sniffedType(kind, sniffed), charset };
}

function sniffedType(kind: Kind, { essence }: MIMEType): string {
  return kind === 'pdf' ? 'application/pdf' : essence;
}

/** Some PDFs begin with a few bytes of something else. */
function otherKind({ essence }: MIMEType, announced: MIMEType | null, head: Uint8Array): Kind {
  if (IMAGES.has(essence)) return 'image';
  const isPdf = essence === 'application/pdf' || (announced?.essence === 'application/pdf' && Buffer.from(head).includes('%PDF-'));
  return isPdf ? 'pdf' : 'binary';
}

function textKind(announced: MIMEType | null, sniffed: MIMEType, head: Uint8Array): Kind {
  if (announced === null) return head.length === 0 ? 'html' : markup(sniffed);
  if (announced.essence === 'application/xhtml+xml') return 'html';
  const generic = GENERIC.has(announced.essence);
  if ((generic || announced.essence === 'text/plain' || announced.isXML()) && opensWithHtml(head)) return 'html';
  return markup(generic && sniffed.isXML() ? sniffed : announced);
}

function markup(type: MIMEType): Kind {
  if (type.isHTML()) return 'html';
  return type.isXML() ? 'xml' : 'text';
}

/** After white space, declarations and comments, each taken by itself: one expression for all of them would try every combination. */
function opensWithHtml(head: Uint8Array): boolean {
  const text = Buffer.from(head)
    .toString('latin1')
    .replace(/^\u00EF\u00BB\u00BF/, '');
  const prolog = /\s+|<\?[^>]*>|<!--[^]*?-->/y;
  let start = 0;
  while (prolog.test(text)) start = prolog.lastIndex;
  return /^<(html|!doctype\s+html)[\s>]/i.test(text.slice(start));
}

/** Text whose every other byte is zero looks binary; only its label says that it is not. */
function isUtf16(charset: string | undefined): boolean {
  return charset !== undefined && (labelToName(charset)?.startsWith('UTF-16') ?? false);
}
