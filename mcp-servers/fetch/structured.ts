import type { About } from './convert/about.ts';

/** What a result says in numbers and names, when the server is configured to say it (`FETCH_STRUCTURED`). */
export interface Described extends About, Record<string, unknown> {
  /** after redirects */
  readonly url: string;
  readonly type: string;
  readonly content: string;
  readonly start_index: number;
  readonly total_length: number;
  readonly next_start_index?: number;
}

const text = (description: string) => ({ type: 'string', description });

/** Failures have no structured content; the text of a result is there as without it. */
export const outputSchema = {
  type: 'object',
  required: ['url', 'type', 'content', 'start_index', 'total_length'],
  properties: {
    url: text('address of the page after redirects'),
    type: text('media type, as announced or recognised'),
    title: text('title, as the page says it'),
    byline: text('who wrote it, as the page says it'),
    published: text('when it was published, as the page says it'),
    language: text('language tag, as the page says it'),
    site: text('name of the site, as the page says it'),
    content: text('this part of the text, without notes'),
    start_index: { type: 'integer', minimum: 0, description: 'code points before this part' },
    total_length: { type: 'integer', minimum: 0, description: 'code points of the whole text' },
    next_start_index: { type: 'integer', minimum: 1, description: 'where the next part begins; missing in the last one' },
  },
} as const;
