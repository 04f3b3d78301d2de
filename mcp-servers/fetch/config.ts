import { z } from 'zod';
import { isAddressBlock, isOrigin } from '../../lib/address-guard/policy.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';

const MIB = 1024 * 1024;
const whole = z.coerce.number().int();

const pageSettings = {
  FETCH_ALLOW_ORIGINS: list(isOrigin, 'origins such as http://127.0.0.1:8080, comma-separated').describe(
    'origins that may be fetched from though their addresses are private, comma-separated and exact: http://wiki.corp,http://127.0.0.1:8080',
  ),
  FETCH_DENY_CIDRS: list(isAddressBlock, 'blocks such as 10.0.0.0/8 or single addresses, comma-separated').describe(
    'address blocks that are never fetched from, comma-separated; for those of the cluster when they are public addresses',
  ),
  FETCH_USER_AGENT: z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'printable ASCII')
    .optional()
    .describe('User-Agent to send instead of the defaults'),
  FETCH_IGNORE_ROBOTS: z.stringbool().default(false).describe("fetch also what a site's robots.txt disallows"),
  FETCH_TIMEOUT_SECONDS: z.coerce
    .number()
    .min(1)
    .max(300)
    .default(30)
    .describe('time for one page with its redirects, robots.txt and conversion'),
  FETCH_MAX_WIRE_BYTES: whole
    .min(1024)
    .default(5 * MIB)
    .describe('bytes read of one page as received; of a longer one the beginning is shown'),
  FETCH_MAX_DECODED_BYTES: whole
    .min(1024)
    .max(256 * MIB)
    .default(10 * MIB)
    .describe('bytes kept of one page after decompression; of a longer one the beginning is shown'),
  FETCH_MAX_IMAGE_BYTES: whole
    .min(0)
    .max(16 * MIB)
    .default(MIB)
    .describe(
      'largest image that is shown as one (PNG, JPEG, GIF, WebP), bytes; a third more is sent, which counts for MAX_RESULT_BYTES too',
    ),
  FETCH_STRUCTURED: z
    .stringbool()
    .default(false)
    .describe(
      'describe each page as structured content too (address after redirects, title, byline, date, language, position), with an output schema',
    ),
  FETCH_CACHE_MIB: whole
    .min(0)
    .max(65_536)
    .default(64)
    .describe(
      'MiB of converted pages kept in memory, so that later parts of a page, and pages that their sites call fresh, are not downloaded again; 0 keeps none',
    ),
  FETCH_CACHE_SECONDS: whole
    .min(0)
    .max(86_400)
    .default(3_600)
    .describe('longest that a page is given again without asking its site, whatever the site says; 0 always asks'),
  FETCH_HOST_REQUESTS: whole
    .min(1)
    .max(256)
    .default(4)
    .describe('requests to one host at a time; further ones wait for their turn, within the time for their page'),
  FETCH_HOST_DELAY_SECONDS: z.coerce
    .number()
    .min(0)
    .max(60)
    .default(0)
    .describe('least time between the starts of two requests to one host, robots.txt and redirects included'),
  FETCH_WORKERS: whole
    .min(1)
    .max(64)
    .default(2)
    .describe('processes kept to convert pages; one is there from the start, the others from when they are first needed'),
  FETCH_MAX_WORKERS: whole
    .min(1)
    .max(256)
    .optional()
    .describe('pages converted at once, each in a process of its own; unset: twice the processors, at most 8'),
  FETCH_WORKER_MEMORY_MIB: whole
    .min(32)
    .max(16_384)
    .default(384)
    .describe('heap of one such process; a page that needs more loses its layout'),
};

/** How pages are fetched, whatever the server is reached by. */
export type PageSettings = z.output<z.ZodObject<typeof pageSettings>>;

export const fetchConfig = z.object({ ...mcpHostSettings, PORT: mcpHostSettings.PORT.default(8001), ...pageSettings });
export type FetchSettings = z.output<typeof fetchConfig>;

/** On standard input and output there is no host to configure; the client's environment may say PORT for quite another reason. */
export const stdioConfig = z.object({ LOG_LEVEL: mcpHostSettings.LOG_LEVEL, ...pageSettings });
export type StdioSettings = z.output<typeof stdioConfig>;

function list(accepts: (item: string) => boolean, what: string) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((items) => items.every(accepts), what)
    .optional();
}
