import { decodeText, type Encoded } from '../charset.ts';
import { readable } from '../printable.ts';
import type { About } from './about.ts';
import { extract, linear, type Method } from './extract.ts';
import { feedText } from './feed.ts';
import { pdfText } from './pdf.ts';

/** What a worker is asked to do: plain data, since it crosses processes. */
export interface Conversion extends Encoded {
  /** the page's URL, for its links */
  readonly base: string;
  /**
   * `text` only decodes; `markdown` extracts; `linear` extracts in the way that never takes long; `feed` lists the entries of one, and
   * only decodes other XML; `pdf` reads one page by page
   */
  readonly to: 'text' | 'markdown' | 'linear' | 'feed' | 'pdf';
  /** when a PDF is to be shown as far as it was read, milliseconds */
  readonly withinMs?: number;
}

export interface Converted {
  /** without characters that show something else than they are */
  readonly text: string;
  readonly method: Method | 'text' | 'feed' | 'pdf';
  /** what the page says about itself; empty for text as it is */
  readonly about: About;
  /** why there is no text */
  readonly problem?: string;
}

/** Where nobody waits. */
const READING_MS = 6_000;

/** The text is well-formed Unicode: what is not (half a pair in a page, or a title cut there) would break strict readers of JSON. */
export async function convert(conversion: Conversion): Promise<Converted> {
  const converted = conversion.to === 'pdf' ? await fromPdf(conversion) : fromText(decodeText(conversion), conversion);
  return { ...converted, text: readable(converted.text.toWellFormed()) };
}

function fromText(text: string, { to, base }: Conversion): Converted {
  if (to === 'feed') {
    const feed = feedText(text, base);
    if (feed !== undefined) return { text: feed.markdown, method: 'feed', about: feed.about };
  }
  if (to !== 'markdown' && to !== 'linear') return { text, method: 'text', about: {} };
  const { markdown, method, about } = to === 'linear' ? linear(text, base) : extract(text, base);
  return { text: markdown, method, about };
}

async function fromPdf({ bytes, withinMs = READING_MS }: Conversion): Promise<Converted> {
  const read = await pdfText(Uint8Array.from(bytes), withinMs);
  return 'problem' in read ? { text: '', method: 'pdf', about: {}, problem: read.problem } : { ...read, method: 'pdf' };
}
