import { z } from 'zod';
import { ConfigError, type ConfigFault } from '../../lib/config.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';

const whole = z.coerce.number().int();

export const sandboxConfig = z.object({
  ...mcpHostSettings,
  PORT: mcpHostSettings.PORT.default(8002),
  SANDBOX_BACKEND: z
    .enum(['local', 'kubernetes'])
    .default('local')
    .describe(
      'what runs sandboxes: local, this machine; kubernetes, claims of an agent-sandbox warm pool, by the ServiceAccount or KUBECONFIG',
    ),
  SANDBOX_ISOLATION: z
    .enum(['auto', 'gvisor', 'bubblewrap'])
    .default('auto')
    .describe('local: what must hold them; auto takes gVisor where it works, else bubblewrap'),
  RUNSC: z.string().optional().describe("local: path of gVisor's runsc; else it is looked for on PATH"),
  STATE_DIR: z
    .string()
    .default('.toolyard/sandboxes')
    .describe('local: directory for what a server that was killed leaves to its successor to remove'),
  SANDBOX_HANDLE_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'file with 64 hexadecimal digits from which sandbox names are derived; without it every start has a key of its own. Needed by kubernetes, the same for every replica',
    ),
  SANDBOX_NAMESPACE: z.string().default('toolyard-sandboxes').describe('namespace of sandboxes; kubernetes takes no other from callers'),
  SANDBOX_WARMPOOL: z.string().default('default').describe('warm pool of sandboxes; kubernetes takes no other from callers'),
  SANDBOX_WARM: whole.min(0).max(16).default(1).describe('local: sandboxes kept started for the next caller'),
  SANDBOX_PER_CALLER: whole
    .min(1)
    .max(1000)
    .default(8)
    .describe('sandboxes that one caller may have at once; AUTH=none knows only one caller'),
  SANDBOX_IN_ALL: whole.min(1).max(1000).default(16).describe('sandboxes that there may be at once'),
  SANDBOX_IDLE_SECONDS: whole.min(1).max(86_400).default(3600).describe('longest time a caller may let a sandbox go unused'),
  SANDBOX_AGE_SECONDS: whole.min(1).max(604_800).default(14_400).describe('longest time a sandbox may live, however much it is used'),
  SANDBOX_MEMORY_MIB: whole.min(64).max(1_048_576).default(512).describe('local: memory of one sandbox, its files included'),
  SANDBOX_DISK_MIB: whole.min(1).max(1_048_576).default(128).describe('local: size of /workspace, and again of /tmp; kept in memory'),
  SANDBOX_PROCESSES: whole.min(16).max(100_000).default(128).describe('local: processes and threads of one sandbox'),
  SANDBOX_CPUS: z.coerce.number().min(0.1).max(1024).default(1).describe('local: processors of one sandbox'),
  SANDBOX_OUTPUT_KIB: whole.min(1).max(1024).default(256).describe('stdout, and again stderr, kept of one command'),
  SANDBOX_FILE_KIB: whole.min(1).max(3072).default(2048).describe('largest file that can be uploaded or downloaded at once'),
});

export type SandboxSettings = z.output<typeof sandboxConfig>;

/** What only this machine's sandboxes can be given; in a cluster the SandboxTemplate says it. */
const localOnly = [
  'SANDBOX_ISOLATION',
  'RUNSC',
  'STATE_DIR',
  'SANDBOX_WARM',
  'SANDBOX_MEMORY_MIB',
  'SANDBOX_DISK_MIB',
  'SANDBOX_PROCESSES',
  'SANDBOX_CPUS',
] as const satisfies readonly (keyof SandboxSettings)[];

/** @throws ConfigError for settings that the backend would not heed, and for those that it cannot do without */
export function assertFits(settings: SandboxSettings): void {
  if (settings.SANDBOX_BACKEND !== 'kubernetes') return;
  const defaults = sandboxConfig.parse({});
  const faults: ConfigFault[] = localOnly
    .filter((name) => settings[name] !== defaults[name])
    .map((name) => ({
      name,
      got: JSON.stringify(settings[name]),
      accepts: 'nothing with SANDBOX_BACKEND=kubernetes: the SandboxTemplate of the warm pool decides that; unset it',
    }));
  if (settings.SANDBOX_HANDLE_KEY_FILE === undefined) {
    faults.push({
      name: 'SANDBOX_HANDLE_KEY_FILE',
      got: '(not set)',
      accepts:
        'with SANDBOX_BACKEND=kubernetes a file with 64 hexadecimal digits, the same for every replica; make one with: openssl rand -hex 32',
    });
  }
  if (faults.length > 0) throw new ConfigError(faults);
}
