import { z } from 'zod';
import { MAX_URL_LENGTH } from './http.ts';

/** What one call asks for; the URL is parsed, the limits are within their bounds. */
export interface FetchArguments {
  readonly url: URL;
  /** most code points to return, 1 to 999,999 */
  readonly maxLength: number;
  /** code points to skip */
  readonly startIndex: number;
  readonly raw: boolean;
}

export type Parsed = { readonly ok: true; readonly arguments: FetchArguments } | { readonly ok: false; readonly message: string };

/** As mcp-server-fetch 2026.10.24 lists it, titles included: clients may have stored it. */
export const inputSchema = {
  type: 'object',
  title: 'fetchArguments',
  required: ['url'],
  properties: {
    url: { type: 'string', format: 'uri', minLength: 1, title: 'Url', description: 'URL to fetch' },
    max_length: {
      type: 'integer',
      default: 5000,
      minimum: 1,
      maximum: 999999,
      title: 'Max Length',
      description: 'Maximum number of characters to return.',
    },
    start_index: {
      type: 'integer',
      default: 0,
      minimum: 0,
      title: 'Start Index',
      description:
        'On return output starting at this character index, useful if a previous fetch was truncated and more context is required.',
    },
    raw: {
      type: 'boolean',
      default: false,
      title: 'Raw',
      description: 'Get the actual HTML content of the requested page, without simplification.',
    },
  },
} as const;

const { max_length: length, start_index: start } = inputSchema.properties;

const fields = z.object({
  url: z
    .string({ error: ({ input }) => (input === undefined ? 'Field required' : 'URL input should be a string or URL') })
    .transform((text, context) => {
      const url = URL.parse(text);
      if (url !== null && url.href.length <= MAX_URL_LENGTH) return url;
      const message =
        url === null
          ? 'Input should be a valid URL, with its scheme: https://…'
          : `URL should have at most ${MAX_URL_LENGTH} characters, this one has ${url.href.length}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }),
  max_length: integer(length.minimum, length.maximum).default(length.default),
  start_index: integer(start.minimum, Number.MAX_SAFE_INTEGER).default(start.default),
  raw: z.boolean('Input should be a valid boolean').default(false),
});

/** Types are strict (`"10"` and `null` are no integers) and what is not a parameter is ignored, as the incumbent has it. */
export function parseArguments(input: unknown): Parsed {
  const parsed = fields.safeParse(input);
  if (parsed.success) {
    const { url, max_length: maxLength, start_index: startIndex, raw } = parsed.data;
    return { ok: true, arguments: { url, maxLength, startIndex, raw } };
  }
  const { issues } = parsed.error;
  const faults = issues.map((issue) => `${issue.path.join('.')}\n  ${issue.message}`);
  return {
    ok: false,
    message: `${issues.length} validation error${issues.length === 1 ? '' : 's'} for fetchArguments\n${faults.join('\n')}`,
  };
}

function integer(minimum: number, maximum: number) {
  return z
    .int('Input should be a valid integer')
    .min(minimum, `Input should be greater than or equal to ${minimum}`)
    .max(maximum, `Input should be less than or equal to ${maximum}`);
}
