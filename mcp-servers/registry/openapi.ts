import { z } from 'zod';
import { OFFICIAL_META, officialMetaSchema, recordStatuses, serverJsonSchema } from '../../lib/registry-api/server-json.ts';
import { operations, prefixes, type RouteName } from './routes.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** What a reader needs to know of one operation; path and method are those of the route. */
interface Description {
  readonly summary: string;
  readonly description?: string;
  readonly query?: readonly Json[];
  readonly body?: string;
  readonly answer: Json;
  readonly secured?: true;
  /** the refusals worth knowing, each with its reason */
  readonly refusals?: Readonly<Record<string, string>>;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const includeDeleted: Json = {
  name: 'include_deleted',
  in: 'query',
  description: 'also show deleted records',
  schema: { type: 'boolean', default: false },
};

const noServer = { 404: 'no such server, or it is deleted and `include_deleted` is not set' };
const badBody = {
  400: 'the body is empty or no JSON',
  408: 'the body took longer than 5 s',
  413: 'the body is 1 MiB or larger',
  415: 'the body is not JSON',
  422: 'the shape of the request is wrong; `errors` lists every fault',
};
const badToken = { 401: 'the token is no bearer token, expired or signed with another key', 403: 'the token does not cover this name' };

const listQuery: readonly Json[] = [
  { name: 'cursor', in: 'query', description: '`metadata.nextCursor` of the page before', schema: { type: 'string' } },
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100, default: 30 } },
  { name: 'search', in: 'query', description: 'substring of the name in any case, at least 3 characters', schema: { type: 'string' } },
  {
    name: 'version',
    in: 'query',
    description: '`latest` for the latest record of each name, else exactly this version',
    schema: { type: 'string' },
  },
  {
    name: 'updated_since',
    in: 'query',
    description: 'RFC 3339 with zone; only records updated later, deleted ones included',
    schema: { type: 'string', format: 'date-time' },
  },
  includeDeleted,
];

const descriptions: Record<RouteName, Description> = {
  list: {
    summary: 'List records',
    description:
      'One record per version of a server, ordered by name and version as text. Follow `metadata.nextCursor` with the same filters until it is absent.',
    query: listQuery,
    answer: ref('ServerList'),
    refusals: { 400: 'a malformed `updated_since`, or `include_deleted=false` beside it', 422: 'a malformed parameter' },
  },
  getVersions: {
    summary: 'List all versions of a server',
    description: 'The newest publication first, all in one answer.',
    query: [includeDeleted],
    answer: ref('ServerList'),
    refusals: noServer,
  },
  getVersion: {
    summary: 'Read one record',
    description: 'The version `latest` is the record whose `isLatest` is true.',
    query: [includeDeleted],
    answer: ref('ServerRecord'),
    refusals: noServer,
  },
  publish: {
    summary: 'Publish a version',
    description: 'A published version is never replaced by publishing: edit it, or publish another. Deleted versions stay taken.',
    body: 'ServerJSON',
    answer: ref('ServerRecord'),
    secured: true,
    refusals: { ...badBody, ...badToken, 400: 'the version exists, or cannot be stored' },
  },
  edit: {
    summary: 'Replace the document of a record',
    description: 'Name and version must stay; status, message, `publishedAt` and `isLatest` do.',
    body: 'ServerJSON',
    answer: ref('ServerRecord'),
    secured: true,
    refusals: { ...badBody, ...badToken, ...noServer },
  },
  setStatus: {
    summary: 'Set the status of a record',
    description: 'Every transition is allowed, back from deleted too. Afterwards the highest version that is not deleted is the latest.',
    body: 'StatusChange',
    answer: ref('ServerRecord'),
    secured: true,
    refusals: { ...badBody, ...badToken, ...noServer, 400: 'nothing would change, or a message for `active`' },
  },
  setStatusOfAll: {
    summary: 'Set the status of all versions of a server',
    body: 'StatusChange',
    answer: {
      type: 'object',
      required: ['updatedCount', 'servers'],
      properties: { updatedCount: { type: 'integer' }, servers: { type: 'array', items: ref('ServerRecord') } },
    },
    secured: true,
    refusals: { ...badBody, ...badToken, ...noServer, 400: 'nothing would change' },
  },
  validate: {
    summary: 'Check a document without publishing it',
    body: 'ServerJSON',
    answer: {
      type: 'object',
      required: ['valid', 'issues'],
      properties: { valid: { type: 'boolean' }, issues: { type: 'array', items: ref('Issue') } },
    },
    refusals: badBody,
  },
  anonymousToken: {
    summary: 'Get a token for io.modelcontextprotocol.anonymous/*',
    description: 'Only where the registry was started with anonymous publishing; it lives five minutes.',
    answer: {
      type: 'object',
      required: ['registry_token', 'expires_at'],
      properties: { registry_token: { type: 'string' }, expires_at: { type: 'integer', description: 'seconds since 1970' } },
    },
    refusals: { 404: 'anonymous publishing is off' },
  },
  health: {
    summary: 'Whether the process is alive',
    answer: { type: 'object', required: ['status'], properties: { status: { const: 'ok' } } },
  },
  ping: { summary: 'Answer a ping', answer: { type: 'object', required: ['pong'], properties: { pong: { const: true } } } },
  version: {
    summary: 'Version of this server',
    answer: {
      type: 'object',
      required: ['version', 'git_commit', 'build_time'],
      properties: { version: { type: 'string' }, git_commit: { type: 'string' }, build_time: { type: 'string' } },
    },
  },
};

function jsonSchemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    // a mark of ours for the stored form
    override: ({ jsonSchema }) => delete jsonSchema['keepEmpty'],
  });
  return rest as Json;
}

const schemas: Json = {
  ServerJSON: jsonSchemaOf(serverJsonSchema),
  OfficialMeta: jsonSchemaOf(officialMetaSchema),
  ServerRecord: {
    type: 'object',
    required: ['server', '_meta'],
    properties: { server: ref('ServerJSON'), _meta: { type: 'object', properties: { [OFFICIAL_META]: ref('OfficialMeta') } } },
  },
  ServerList: {
    type: 'object',
    required: ['servers', 'metadata'],
    properties: {
      servers: { type: 'array', items: ref('ServerRecord') },
      metadata: {
        type: 'object',
        required: ['count'],
        properties: {
          nextCursor: { type: 'string', description: 'absent on the last page; a full page always has one' },
          count: { type: 'integer', description: 'records on this page' },
        },
      },
    },
  },
  StatusChange: {
    type: 'object',
    required: ['status'],
    additionalProperties: false,
    properties: {
      status: { type: 'string', enum: recordStatuses },
      statusMessage: {
        type: ['string', 'null'],
        maxLength: 500,
        description: 'not for `active`; when absent, an earlier message is cleared',
      },
    },
  },
  Issue: {
    type: 'object',
    required: ['type', 'path', 'message', 'severity', 'reference'],
    properties: {
      type: { enum: ['json', 'schema', 'semantic', 'linter'] },
      path: { type: 'string' },
      message: { type: 'string' },
      severity: { enum: ['error', 'warning', 'info'] },
      reference: { type: 'string' },
    },
  },
  Problem: {
    type: 'object',
    required: ['title', 'status', 'detail'],
    properties: {
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['message'],
          properties: { message: { type: 'string' }, location: { type: 'string' }, value: {} },
        },
      },
    },
  },
};

/** The API in OpenAPI 3.1. */
export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'toolyard MCP registry',
    // Clients tell an MCP registry by this version and the link in the description.
    version: '1.0.0',
    description:
      'A registry of MCP servers with the API of the official one.\n\n[Official registry](https://github.com/modelcontextprotocol/registry), whose v0 and v0.1 this serves.',
  },
  paths: pathsOf(),
  components: {
    schemas,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: "EdDSA, signed with the registry's seed" },
    },
  },
} satisfies Json;

function pathsOf(): Record<string, Record<string, Json>> {
  const paths: Record<string, Record<string, Json>> = {};
  for (const prefix of prefixes) {
    for (const { to, method, path } of operations) {
      const template = `${prefix}${path.replace('{name}', '{serverName}')}`;
      paths[template] = { ...paths[template], [method.toLowerCase()]: operationOf(`${to}-${prefix.slice(1)}`, template, descriptions[to]) };
    }
  }
  return paths;
}

function operationOf(
  operationId: string,
  template: string,
  { summary, description, query = [], body, answer, secured, refusals = {} }: Description,
): Json {
  const variables = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: 'percent-encoded, its slash included',
    schema: { type: 'string' },
  }));
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    ...(variables.length + query.length > 0 && { parameters: [...variables, ...query] }),
    ...(body !== undefined && { requestBody: { required: true, content: { 'application/json': { schema: ref(body) } } } }),
    ...(secured && { security: [{ bearer: [] }] }),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: answer } } }, ...problemsOf(refusals) },
  };
}

function problemsOf(refusals: Readonly<Record<string, string>>): Record<string, Json> {
  const content = { 'application/problem+json': { schema: ref('Problem') } };
  return Object.fromEntries(Object.entries(refusals).map(([status, description]) => [status, { description, content }]));
}

/** Plain data as YAML in block style. Scalars and empty collections stand as JSON, which YAML 1.2 contains. */
export function toYaml(value: Json, indent = ''): string {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return ` ${JSON.stringify(value)}\n`;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item: Json) => `${indent}-${toYaml(item, inner)}`)
    : Object.entries(value).map(([key, item]) => `${indent}${JSON.stringify(key)}:${toYaml(item, inner)}`);
  return `\n${lines.join('')}`;
}
