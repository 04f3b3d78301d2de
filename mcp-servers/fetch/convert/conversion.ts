import { decodeText, type Encoded } from '../charset.ts';
import { extract, linear, type Method } from './extract.ts';

/** What a worker is asked to do: plain data, since it crosses processes. */
export interface Conversion extends Encoded {
  /** the page's URL, for its links */
  readonly base: string;
  /** `text` only decodes; `markdown` extracts; `linear` extracts in the way that never takes long */
  readonly to: 'text' | 'markdown' | 'linear';
}

export interface Converted {
  readonly text: string;
  readonly method: Method | 'text';
}

/** The text is well-formed Unicode: what is not (half a pair in a page, or a title cut there) would break strict readers of JSON. */
export function convert(conversion: Conversion): Converted {
  const text = decodeText(conversion);
  if (conversion.to === 'text') return { text, method: 'text' };
  const { markdown, method } = conversion.to === 'linear' ? linear(text, conversion.base) : extract(text, conversion.base);
  return { text: markdown.toWellFormed(), method };
}
