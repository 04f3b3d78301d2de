import { z } from 'zod';
import { ConfigError, readConfig, type ConfigFault } from '../../lib/config.ts';
import { httpHostSettings } from '../../lib/http-host/config.ts';
import { fetchConfig } from '../../mcp-servers/fetch/config.ts';
import { registryConfig } from '../../mcp-servers/registry/config.ts';
import { sandboxConfig } from '../../mcp-servers/sandbox/config.ts';
import { operatorSettings } from '../../operator/config.ts';
import { CliError, exit } from '../exit.ts';
import { partNames, type PartName } from './model.ts';
import type { Ports } from './ports.ts';
import type { StateDir } from './state-dir.ts';

/** What the settings of the parts and of the operator are made of. */
export interface Surroundings {
  readonly catalog: string;
  readonly state: StateDir;
  /** ports, addresses and files in it are replaced */
  readonly env: NodeJS.ProcessEnv;
}

/** Whoever presses Ctrl-C does not want calls to end first. An empty setting counts as unset. */
const hostSettings = {
  HOST: '127.0.0.1',
  METRICS_PORT: 'off',
  DRAIN_SECONDS: '0',
  FINISH_SECONDS: '0.5',
  TLS_CERT_FILE: '',
  TLS_KEY_FILE: '',
};

/** The environment of a part's process. */
export function environmentOf(name: PartName, ports: Ports, { state, env }: Surroundings): NodeJS.ProcessEnv {
  const own: Record<PartName, NodeJS.ProcessEnv> = {
    registry: {
      DATABASE_FILE: state.database,
      JWT_PRIVATE_KEY_FILE: state.registrySeed,
      ALLOW_LOCAL_REMOTES: 'true',
      STATUS_FILE: state.status,
    },
    fetch: {},
    sandbox: { SANDBOX_BACKEND: 'local', STATE_DIR: state.sandboxes, SANDBOX_HANDLE_KEY_FILE: state.sandboxKey },
  };
  return { ...env, ...own[name], ...hostSettings, PORT: String(ports[name]), NODE_COMPILE_CACHE: state.compileCache };
}

const configs = { registry: registryConfig, fetch: fetchConfig, sandbox: sandboxConfig } as const;

/** On one machine a handshake costs next to nothing, and whoever stops a server is there to see what becomes of it. */
const operatorConfig = z.object({
  ...operatorSettings,
  PROBE_INTERVAL_SECONDS: operatorSettings.PROBE_INTERVAL_SECONDS.default(5),
  LOG_LEVEL: httpHostSettings.LOG_LEVEL,
});

/** What the operator is told, and how much it logs. */
export type StackSettings = z.output<typeof operatorConfig>;

/**
 * The operator's settings, once those of the parts were found good too.
 * @throws CliError `usage` naming every variable that is wrong for any of them
 */
export function readSettings(ports: Ports, around: Surroundings): StackSettings {
  const operator = (): StackSettings => readConfig(operatorConfig, operatorEnvironment(ports, around));
  const parts = partNames.map((name) => () => readConfig(configs[name], environmentOf(name, ports, around)));
  const faults = [operator, ...parts].flatMap(faultsOf);
  if (faults.length === 0) return operator();
  // a variable that several of them read is wrong once
  const details = [...new Set(new ConfigError(faults).message.split('\n'))];
  throw new CliError(exit.usage, 'wrong settings in the environment:', { details, next: correctThem });
}

/** What to do about variables that were refused. */
export const correctThem = 'correct these variables, or unset them';

function faultsOf(read: () => unknown): readonly ConfigFault[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

/** The addresses of the parts that ship go with the records that ship: the ports may be others than their toolyard.json says. */
function operatorEnvironment(ports: Ports, { catalog, state, env }: Surroundings): NodeJS.ProcessEnv {
  const endpoints = Object.fromEntries(
    (['fetch', 'sandbox'] as const).map((name) => [`dev.toolyard/${name}`, `${addressOf(ports[name])}/mcp`]),
  );
  return {
    ...env,
    REGISTRY_URL: addressOf(ports.registry),
    REGISTRY_JWT_SEED_FILE: state.registrySeed,
    SOURCE: 'directory',
    SOURCE_DIRECTORY: catalog,
    STATUS_FILE: state.status,
    ENDPOINTS: JSON.stringify(endpoints),
    PUBLISH_ENDPOINT: 'true',
  };
}

export function addressOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
