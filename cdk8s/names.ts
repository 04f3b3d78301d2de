/** Every part that runs as pods; also the name of its Deployment, Service and ServiceAccount. */
export type Part = 'operator' | 'registry' | 'postgresql' | Server;
/** The MCP servers that ship. */
export const servers = ['fetch', 'sandbox'] as const;
export type Server = (typeof servers)[number];

export const PART_OF = { 'app.kubernetes.io/part-of': 'toolyard' };

/** What a part's pods are selected by; never changes, since selectors cannot. */
export function selectorOf(part: Part): Record<string, string> {
  return { 'app.kubernetes.io/name': part, ...PART_OF };
}

/** Namespaces whose pods may use registry and servers. */
export const CLIENTS = { 'toolyard.dev/client': 'true' };
/** ConfigMaps that are declarations. */
export const DECLARATIONS = { 'toolyard.dev/kind': 'server.json' };

export const ports = {
  /** operator and servers: plain HTTP with health */
  http: 8000,
  https: 8443,
  metrics: 9090,
  registry: 8080,
  postgresql: 5432,
  /** sandboxd's: commands, files */
  runtime: { grpc: 9090, rest: 8080 },
} as const;

/** What the operator makes where no name of the user's own is given. */
export const made = {
  seed: 'toolyard-registry',
  database: 'toolyard-database',
  authority: 'toolyard-ca',
  handleKey: 'toolyard-sandbox-key',
  tls: { fetch: 'toolyard-fetch-tls', sandbox: 'toolyard-sandbox-tls' },
} as const;

export const SEED_KEY = 'seed';
export const PASSWORD_KEY = 'password';
export const HANDLE_KEY = 'key';
export const LEASE = 'toolyard-operator';

/** The release of agent-sandbox that sandboxes are made with here; Dockerfile.sandbox has its sandboxd. */
export const AGENT_SANDBOX = '1.0.12';
/** Name of the SandboxTemplate and of the SandboxWarmPool. */
export const POOL = 'default';
