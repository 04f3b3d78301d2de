import { z } from 'zod';
import { httpHostSettings } from '../http-host/config.ts';

const MIB = 1024 * 1024;

/** What every MCP server of toolyard can be told; spread into its own schema, where a default may be replaced. */
export const mcpHostSettings = {
  ...httpHostSettings,
  PUBLIC_HOSTS: z
    .string()
    .regex(/^ *(?:[\w.-]+|\[[\da-f:.]+\])(?: *, *(?:[\w.-]+|\[[\da-f:.]+\]))* *$/i, 'host names without scheme and port, comma-separated')
    .optional()
    .describe('host names, comma-separated and without ports, under which clients reach /mcp, besides loopback names and HOST'),
  PUBLIC_PATH: z
    .string()
    .regex(/^(?:\/[\w.~-]+)+$/, 'a path such as /fetch/mcp')
    .optional()
    .describe('another path than /mcp under which clients reach the server too, behind a gateway that has one host for several servers'),
  AUTH: z
    .enum(['none', 'tokens'])
    .default('none')
    .describe('who may call: none admits everybody, tokens those with a bearer token of AUTH_TOKENS_FILE'),
  AUTH_TOKENS_FILE: z
    .string()
    .optional()
    .describe('JSON object, name of the caller to SHA-256 of its token in hexadecimal; read again when the file changes'),
  CALLS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('calls of tools and prompts that one caller may make a minute in this process, all at once if it likes; unset: any number'),
  MAX_BODY_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .default(4 * MIB)
    .describe('largest request body accepted, bytes'),
  MAX_RESULT_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .default(10 * MIB)
    .describe('largest result sent, bytes; a larger one becomes an error that says so'),
};

export type McpHostSettings = z.output<z.ZodObject<typeof mcpHostSettings>>;
