import type { Body } from './body.ts';
import type { About } from './convert/about.ts';
import type { Conversion, Converted } from './convert/conversion.ts';
import { FetchFailure } from './failure.ts';
import { MAX_URL_LENGTH, type Answer } from './http.ts';
import type { Content, Kind } from './kind.ts';
import { printable } from './printable.ts';

/** A page as it is shown, whole; what its text is paged into is the tool's business. */
export interface Page {
  readonly text: string;
  /** said before the text: where a redirect led to another site, and that it could not be simplified; else empty */
  readonly prefix: string;
  /** where redirects led */
  readonly url: string;
  /** `text/html` */
  readonly type: string;
  readonly about: About;
  /** what is shown beside the text, which then only says what it is */
  readonly image?: { readonly data: Buffer; readonly mimeType: string };
}

/** A page as it came. */
export interface Received {
  readonly asked: URL;
  readonly answer: Answer;
  readonly body: Body;
  readonly content: Content;
  /** what was sent, not what it says */
  readonly raw: boolean;
}

/** What a page is converted from, and how. */
export type Plan = { readonly do: 'convert'; readonly conversion: Conversion } | { readonly do: 'image' } | { readonly do: 'refuse' };

/** Of a Content-Type no more is shown, characters. */
const MAX_TYPE_LENGTH = 256;

const NOT_SIMPLIFIED = '<error>Page failed to be simplified from HTML</error>';

/** What becomes of a page that is not wanted raw. */
const conversionOf = { html: 'markdown', xml: 'feed', text: 'text', pdf: 'pdf' } as const satisfies Partial<Record<Kind, Conversion['to']>>;

export function planFor({ answer, body, content: { kind, charset }, raw }: Received): Plan {
  if (kind === 'image') return { do: 'image' };
  if (kind === 'binary' || (kind === 'pdf' && raw)) return { do: 'refuse' };
  const conversion: Conversion = {
    bytes: body.bytes,
    complete: body.cut === undefined,
    kind: kind === 'pdf' ? 'text' : kind,
    charset,
    base: answer.url.href,
    to: raw ? 'text' : conversionOf[kind],
  };
  return { do: 'convert', conversion };
}

/** @throws FetchFailure when there is nothing to show */
export function textPage(received: Received, { text, method, about, problem }: Converted): Page {
  const { asked, answer, body, content, raw } = received;
  if (problem !== undefined) throw new FetchFailure('binary', `Failed to fetch ${asked.href}: ${printable(problem, MAX_TYPE_LENGTH)}`);
  const shown = content.kind === 'html' && !raw && text === '' ? NOT_SIMPLIFIED : text;
  const asItIs = method === 'text' && (raw || content.type !== 'text/markdown');
  const type = printable(answer.header('content-type') ?? '', MAX_TYPE_LENGTH);
  const prefix = asItIs ? `Content type ${type} cannot be simplified to markdown, but here is the raw content:\n` : '';
  return { text: `${shown}${cutNote(body)}`, prefix: redirectNote(received) + prefix, url: answer.url.href, type: content.type, about };
}

/** @param most bytes. @throws FetchFailure for a larger one */
export function imagePage(received: Received, most: number): Page {
  const { answer, body, content } = received;
  if (body.cut !== undefined || body.bytes.length > most) {
    throw new FetchFailure('binary', `${binaryText(received)}; images are shown up to ${most} bytes (FETCH_MAX_IMAGE_BYTES)`);
  }
  return {
    text: `${content.type}, ${body.bytes.length} bytes`,
    prefix: redirectNote(received),
    url: answer.url.href,
    type: content.type,
    about: {},
    image: { data: body.bytes, mimeType: content.type },
  };
}

/** The failure of what can be shown neither as text nor as an image. */
export function unshowable(received: Received): FetchFailure {
  return new FetchFailure('binary', `${binaryText(received)}${received.content.kind === 'pdf' ? '; without raw it can' : ''}`);
}

/** A page of another site than was asked for says so, before the line that names what was asked for. */
function redirectNote({ asked, answer: { url } }: Received): string {
  return siteOf(asked) === siteOf(url) ? '' : `Redirected to ${printable(url.href, MAX_URL_LENGTH)}\n`;
}

/** The same site with or without TLS, or `www.`, is no other. */
function siteOf({ host }: URL): string {
  return host.replace(/^www\./, '');
}

function cutNote({ cut, bytes }: Body): string {
  return cut === undefined
    ? ''
    : `\n\n<error>The page is larger than this server reads; only its first ${bytes.length} bytes are here.</error>`;
}

function binaryText({ asked, answer, body, content: { type } }: Received): string {
  return `Failed to fetch ${asked.href}: the content is ${printable(type, MAX_TYPE_LENGTH)} (${sizeOf(answer, body)}), which cannot be shown as text`;
}

function sizeOf(answer: Answer, { bytes, cut }: Body): string {
  const total = announced(answer);
  if (answer.header('content-encoding') === undefined && total !== undefined) return `${total} bytes`;
  return cut === undefined ? `${bytes.length} bytes` : 'of unknown size';
}

/** The Content-Length, bytes as sent. */
export function announced(answer: Answer): number | undefined {
  const length = Number(answer.header('content-length'));
  return Number.isSafeInteger(length) && length > 0 ? length : undefined;
}
