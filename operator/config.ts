import { z } from 'zod';
import { httpHostSettings } from '../lib/http-host/config.ts';

const seconds = z.coerce.number().min(0.1).max(86_400);
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A setting that is written as JSON in one variable. */
function json<T extends z.ZodType>(schema: T, example: string) {
  return z.string().transform((text, context): z.output<T> => {
    const parsed = schema.safeParse(parse(text));
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message: `JSON such as ${example}` });
    return z.NEVER;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const httpUrl = z.url({ protocol: /^https?$/, error: 'an http or https address' });

/** What the operator needs, however it is run. */
export const operatorSettings = {
  REGISTRY_URL: httpUrl.default('http://127.0.0.1:8080').describe('address of the registry, without /v0.1'),
  REGISTRY_JWT_SEED_FILE: z
    .string()
    .describe("file with the registry's signing seed, 64 hexadecimal digits; read again when the registry refuses a token"),
  REGISTRY_RESYNC_SECONDS: seconds.default(60).describe('time between two readings of the whole registry'),
  SOURCE: z.enum(['directory']).default('directory').describe('where declarations come from'),
  SOURCE_DIRECTORY: z.string().default('catalog').describe('directory that holds <any>/server.json and, beside it, toolyard.json'),
  STATUS_FILE: z.string().default('.toolyard/status.json').describe('what the operator knows about each declaration, as JSON'),
  INSTALL: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'lower case letters, digits and dashes, at most 63')
    .refine((name) => name !== 'true', 'any other name than true')
    .default('toolyard')
    .describe('name of this installation, written into each record it keeps; must differ where several share a registry'),
  PROBE_INTERVAL_SECONDS: seconds.default(30).describe('time between two handshakes with a server that answers'),
  PROBE_TIMEOUT_SECONDS: seconds.max(60).default(10).describe('time that a handshake and the list of tools may take together'),
  PROBE_ALLOW: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .describe('further addresses that may be probed, comma-separated: blocks, addresses, host names'),
  PROBE_AUTH_DIRECTORY: z
    .string()
    .optional()
    .describe('directory with <name>.json (authorization, origin) for the setting probe-auth of a declaration'),
  WITHDRAW_AFTER_SECONDS: z.coerce.number().min(0).max(86_400).default(30).describe('time for a vanished declaration to come back'),
  IMMUTABLE_VERSIONS: flag.default(false).describe('refuse to change a published version; true or false'),
  NAME_POLICY: json(z.record(z.string(), z.array(z.string().min(1))), '{"directory":["com.example/*"]}')
    .default({})
    .describe('names that each namespace may declare, as JSON; * stands for namespaces that are not listed; default any'),
  ENDPOINTS: json(z.record(z.string(), httpUrl), '{"com.example/weather":"http://127.0.0.1:9000/mcp"}')
    .default({})
    .describe('addresses to probe, by name of the record, as JSON; stronger than endpoint in toolyard.json'),
  PUBLISH_ENDPOINT: flag
    .default(false)
    .describe("publish the endpoint in place of the record's remote, and accept remotes on this machine: for a registry that does, too"),
  CA_FILE: z.string().optional().describe("certificates in PEM to trust besides the system's, for registry and probes"),
};

export type OperatorSettings = z.output<z.ZodObject<typeof operatorSettings>>;

/** What the process needs: the operator, and a port for health and metrics. */
export const config = z.object({ ...httpHostSettings, PORT: httpHostSettings.PORT.default(8003), ...operatorSettings });
