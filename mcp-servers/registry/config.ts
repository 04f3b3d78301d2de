import { z } from 'zod';
import { httpHostSettings } from '../../lib/http-host/config.ts';

const flag = z.stringbool({ error: 'true or false' }).default(false);

// Metrics are at /metrics of the same port, as in the official registry.
const { METRICS_PORT: _, ...hostSettings } = httpHostSettings;

/** What the embedded registry can be told. */
export const registryConfig = z.object({
  ...hostSettings,
  PORT: httpHostSettings.PORT.default(8080),
  DATABASE_FILE: z.string().default('.toolyard/registry.sqlite').describe('SQLite file of all records, created when missing'),
  JWT_PRIVATE_KEY_FILE: z.string().describe('file with the signing seed of tokens, 64 hexadecimal digits; who has it can publish'),
  ALLOW_LOCAL_REMOTES: flag.describe('also take remotes with http or on this machine, which the official registry refuses'),
  STATUS_FILE: z
    .string()
    .optional()
    .describe('the operator’s status file: the page at `/` then shows tools, and declarations that are not published with their reason'),
  ENABLE_ANONYMOUS_AUTH: flag.describe('give anybody a token for io.modelcontextprotocol.anonymous/*'),
});

export type RegistrySettings = z.output<typeof registryConfig>;
