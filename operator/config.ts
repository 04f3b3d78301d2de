import { z } from 'zod';
import { httpHostSettings } from '../lib/http-host/config.ts';
import { parseJson } from '../lib/json.ts';

const seconds = z.coerce.number().min(0.1).max(86_400);
const wholeSeconds = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A setting that is written as JSON in one variable. */
function json<T extends z.ZodType>(schema: T, example: string) {
  return z.string().transform((text, context): z.output<T> => {
    const parsed = schema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message: `JSON such as ${example}` });
    return z.NEVER;
  });
}

/** What is written in one variable with commas between. */
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  );

const httpUrl = z.url({ protocol: /^https?$/, error: 'an http or https address' });

/** What the operator needs, however it is run. */
export const operatorSettings = {
  REGISTRY_URL: httpUrl.default('http://127.0.0.1:8080').describe('address of the registry, without /v0.1'),
  REGISTRY_JWT_SEED_FILE: z
    .string()
    .optional()
    .describe("file with the registry's signing seed, 64 hexadecimal digits; read again when the registry refuses a token"),
  REGISTRY_RESYNC_SECONDS: seconds.default(60).describe('time between two readings of the whole registry'),
  SOURCE_DIRECTORY: z
    .string()
    .default('catalog')
    .describe('SOURCE=directory: directory that holds <any>/server.json and, beside it, toolyard.json'),
  STATUS_FILE: z
    .string()
    .default('.toolyard/status.json')
    .describe('SOURCE=directory: what the operator knows about each declaration, as JSON'),
  INSTALL: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'lower case letters, digits and dashes, at most 63')
    .refine((name) => name !== 'true', 'any other name than true')
    .default('toolyard')
    .describe('name of this installation, written into each record it keeps; must differ where several share a registry'),
  PROBE_INTERVAL_SECONDS: seconds.default(30).describe('time between two handshakes with a server that answers'),
  PROBE_TIMEOUT_SECONDS: seconds.max(60).default(10).describe('time that a handshake and the list of tools may take together'),
  PROBE_ALLOW: list.describe(
    'further addresses that may be probed, comma-separated: blocks, addresses, host names; with SOURCE=configmaps also namespace:NAME for the Services of a namespace',
  ),
  PROBE_AUTH_DIRECTORY: z
    .string()
    .optional()
    .describe('SOURCE=directory: directory with <name>.json (authorization, origin) for the setting probe-auth of a declaration'),
  WITHDRAW_AFTER_SECONDS: z.coerce.number().min(0).max(86_400).default(30).describe('time for a vanished declaration to come back'),
  IMMUTABLE_VERSIONS: flag.default(false).describe('refuse to change a published version; true or false'),
  NAME_POLICY: json(z.record(z.string(), z.array(z.string().min(1))), '{"directory":["com.example/*"]}')
    .default({})
    .describe('names that each namespace may declare, as JSON; * stands for namespaces that are not listed; default any'),
  ENDPOINTS: json(z.record(z.string(), httpUrl), '{"com.example/weather":"http://127.0.0.1:9000/mcp"}')
    .default({})
    .describe('addresses to probe, by name of the record, as JSON; stronger than the endpoint that a declaration names'),
  PUBLISH_ENDPOINT: flag
    .default(false)
    .describe(
      "SOURCE=directory: publish the endpoint in place of the record's remote, and accept remotes on this machine: for a registry that does, too",
    ),
  CA_FILE: z.string().optional().describe("certificates in PEM to trust besides the system's, for registry and probes"),
};

export type OperatorSettings = z.output<z.ZodObject<typeof operatorSettings>>;

/** As Kubernetes names namespaces and, with dots, most other objects. */
const label = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'lower case letters, digits and dashes, at most 63');
const objectName = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'lower case letters, digits, dots and dashes, at most 253');
const secretKey = z.string().regex(/^[A-Za-z0-9._-]{1,253}$/);

/** One thing that the operator makes when it is missing, in INSTALL_NAMESPACE. */
export const generated = z.discriminatedUnion('is', [
  /** random bytes, as hexadecimal digits under one key of a Secret */
  z.strictObject({ is: z.literal('hex'), secret: objectName, key: secretKey, bytes: z.int().min(16).max(64) }),
  /** a certificate authority: `tls.crt`, `tls.key` in a Secret, and `ca.crt` in a ConfigMap for clients */
  z.strictObject({ is: z.literal('ca'), secret: objectName, configMap: objectName }),
  /** a server's certificate, signed by that authority: a Secret of type kubernetes.io/tls */
  z.strictObject({ is: z.literal('certificate'), secret: objectName, hosts: z.array(z.string().min(1).max(253)).min(1).max(50) }),
]);

export type Generated = z.output<typeof generated>;

/** What the operator needs besides in a cluster. */
export const clusterSettings = {
  SOURCE: z
    .enum(['directory', 'configmaps'])
    .default('directory')
    .describe('where declarations come from: a directory, or ConfigMaps labelled toolyard.dev/kind=server.json'),
  NAMESPACES: list
    .pipe(z.array(label))
    .describe('SOURCE=configmaps: namespaces whose ConfigMaps are declarations, comma-separated; empty for all'),
  INSTALL_NAMESPACE: label
    .optional()
    .describe('SOURCE=configmaps: namespace of this installation: its Lease and Secrets, and the only one that may declare dev.toolyard/*'),
  POD_NAME: objectName.optional().describe('SOURCE=configmaps: name under which this process takes the Lease; unset takes the host name'),
  LEASE_NAME: objectName
    .default('toolyard-operator')
    .describe('SOURCE=configmaps: Lease in INSTALL_NAMESPACE whose holder works while others stand by'),
  REGISTRY_JWT_SEED_SECRET: objectName
    .optional()
    .describe(
      'SOURCE=configmaps: Secret in INSTALL_NAMESPACE with the signing seed under the key seed, in place of REGISTRY_JWT_SEED_FILE',
    ),
  GENERATE: json(z.array(generated), '[{"is":"hex","secret":"toolyard-registry","key":"seed","bytes":32}]')
    .default([])
    .describe(
      'SOURCE=configmaps: Secrets that are made when they are missing, in INSTALL_NAMESPACE, as JSON: hex (secret, key, bytes), ca (secret, configMap), certificate (secret, hosts)',
    ),
  CLAIMS_NAMESPACES: list
    .pipe(z.array(label))
    .describe('SOURCE=configmaps: namespaces whose SandboxClaims get an end, comma-separated; empty: none is looked after'),
  CLAIM_MAX_AGE_SECONDS: wholeSeconds(1, 2_592_000)
    .default(14_400)
    .describe('a SandboxClaim lives so long at most: one without an end, or with a later one, gets this one'),
  CLAIM_GRACE_SECONDS: wholeSeconds(0, 86_400)
    .default(60)
    .describe('a SandboxClaim that is finished or expired is deleted when it is still there after this'),
  CLAIMS_MAX: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('SandboxClaims in each namespace; the newest of more are deleted while they never were ready; 0 for any number'),
  KUBECONFIG: z
    .string()
    .optional()
    .describe('SOURCE=configmaps, outside a Pod: file that says where the cluster is; unset takes ~/.kube/config'),
  KUBE_CONTEXT: z
    .string()
    .optional()
    .describe('SOURCE=configmaps, outside a Pod: which context of KUBECONFIG to use; unset takes its current one'),
};

const settings = z.object({
  ...httpHostSettings,
  PORT: httpHostSettings.PORT.default(8003),
  ...operatorSettings,
  ...clusterSettings,
});

export type ProcessSettings = z.output<typeof settings>;

/** Settings of which some could not be read; a rule is only asked about one that could. */
type Given = Partial<ProcessSettings>;

/** What one setting has to do with the others. */
interface Rule {
  readonly name: keyof ProcessSettings;
  readonly accepts: string;
  readonly isMet: (given: Given) => boolean;
}

const inCluster = ({ SOURCE }: Given): boolean => SOURCE === 'configmaps';
const isFilled = (items: readonly unknown[] | undefined): boolean => items !== undefined && items.length > 0;

/** Settings of the other source are refused; SOURCE_DIRECTORY and STATUS_FILE, which have defaults, are ignored in a cluster. */
const rules: readonly Rule[] = [
  {
    name: 'REGISTRY_JWT_SEED_FILE',
    accepts: 'a file name',
    isMet: (given) => inCluster(given) || given.REGISTRY_JWT_SEED_FILE !== undefined,
  },
  {
    name: 'REGISTRY_JWT_SEED_SECRET',
    accepts: 'the name of a Secret, with SOURCE=configmaps unless REGISTRY_JWT_SEED_FILE is set: exactly one of both',
    isMet: (given) =>
      inCluster(given)
        ? (given.REGISTRY_JWT_SEED_FILE === undefined) !== (given.REGISTRY_JWT_SEED_SECRET === undefined)
        : given.REGISTRY_JWT_SEED_SECRET === undefined,
  },
  {
    name: 'INSTALL_NAMESPACE',
    accepts: 'the name of a namespace, with SOURCE=configmaps',
    isMet: (given) => !inCluster(given) || given.INSTALL_NAMESPACE !== undefined,
  },
  {
    name: 'NAMESPACES',
    accepts: 'nothing unless SOURCE=configmaps',
    isMet: (given) => inCluster(given) || !isFilled(given.NAMESPACES),
  },
  {
    name: 'CLAIMS_NAMESPACES',
    accepts: 'nothing unless SOURCE=configmaps',
    isMet: (given) => inCluster(given) || !isFilled(given.CLAIMS_NAMESPACES),
  },
  { name: 'GENERATE', accepts: 'nothing unless SOURCE=configmaps', isMet: (given) => inCluster(given) || !isFilled(given.GENERATE) },
  {
    name: 'GENERATE',
    accepts: 'one ca at most, and one where there is a certificate',
    isMet: ({ GENERATE = [] }) => {
      const authorities = GENERATE.filter(({ is }) => is === 'ca').length;
      return authorities === 1 || (authorities === 0 && !GENERATE.some(({ is }) => is === 'certificate'));
    },
  },
  {
    name: 'PROBE_AUTH_DIRECTORY',
    accepts: 'nothing with SOURCE=configmaps: there the annotation toolyard.dev/probe-auth names a Secret',
    isMet: (given) => !inCluster(given) || given.PROBE_AUTH_DIRECTORY === undefined,
  },
  {
    name: 'PUBLISH_ENDPOINT',
    accepts: 'false with SOURCE=configmaps',
    isMet: (given) => !inCluster(given) || given.PUBLISH_ENDPOINT !== true,
  },
];

/** What the process needs: the operator, and a port for health and metrics. Every fault is told at once, whatever else is wrong. */
export const config = rules.reduce((schema, { name, accepts, isMet }) => {
  const isReadable = ({ issues }: z.core.ParsePayload): boolean => issues.every(({ path }) => path?.[0] !== name);
  return schema.refine(isMet, { path: [name], error: accepts, when: isReadable });
}, settings);
