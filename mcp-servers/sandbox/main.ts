import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { ConfigError } from '../../lib/config.ts';
import type { HttpHost } from '../../lib/http-host/host.ts';
import { runProcess } from '../../lib/http-host/process.ts';
import type { Access } from '../../lib/kube/credentials.ts';
import { createLog, type Log } from '../../lib/log.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import type { SandboxBackend } from './backend.ts';
import { assertFits, sandboxConfig, type SandboxSettings } from './config.ts';
import { Handles } from './handles.ts';
import { LocalBackend, type LocalSettings } from './local/backend.ts';
import { Sandboxes } from './sandboxes.ts';
import { createSandboxServer } from './server.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Serves the sandbox tools until closed, when every sandbox of this machine is removed; those in a cluster stay. It answers at once; /readyz
 * says when sandboxes can be made.
 * @throws ConfigError, ListenError
 */
export async function startSandbox(settings: SandboxSettings): Promise<HttpHost> {
  assertFits(settings);
  const log = createLog('sandbox', settings.LOG_LEVEL);
  const handles = new Handles(readHandleKey(settings.SANDBOX_HANDLE_KEY_FILE));
  const metrics = new Registry();
  const inCluster = settings.SANDBOX_BACKEND === 'kubernetes';
  const backend = inCluster ? await clusterBackend(settings, log) : new LocalBackend(localSettings(settings), log);
  const limits = {
    perCaller: settings.SANDBOX_PER_CALLER,
    inAll: settings.SANDBOX_IN_ALL,
    maxIdleMs: settings.SANDBOX_IDLE_SECONDS * 1000,
    maxAgeMs: settings.SANDBOX_AGE_SECONDS * 1000,
  };
  const sandboxes = new Sandboxes({ backend, handles, limits, metrics });
  const placement = { namespace: settings.SANDBOX_NAMESPACE, warmpool: settings.SANDBOX_WARMPOOL };
  try {
    return await startMcpHost({
      part: 'sandbox',
      settings,
      createServer: (call) => createSandboxServer({ sandboxes, placement, log }, call),
      ready: () => backend.ready(),
      metrics,
      log,
      // sandboxes of this machine end with this process: nobody need wait for what runs in them
      ...(inCluster ? { onClose: () => backend.close() } : { onDrain: () => backend.close() }),
    });
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/** @throws ConfigError when there is no way to a cluster */
async function clusterBackend(settings: SandboxSettings, log: Log): Promise<SandboxBackend> {
  // nothing of clusters is loaded to serve a laptop
  const { KubernetesBackend } = await import('./kubernetes/backend.ts');
  const { KubeClient } = await import('../../lib/kube/client.ts');
  return new KubernetesBackend(
    {
      namespace: settings.SANDBOX_NAMESPACE,
      warmpool: settings.SANDBOX_WARMPOOL,
      outputBytes: settings.SANDBOX_OUTPUT_KIB * KIB,
      fileBytes: settings.SANDBOX_FILE_KIB * KIB,
      maxAgeMs: settings.SANDBOX_AGE_SECONDS * 1000,
      maxIdleMs: settings.SANDBOX_IDLE_SECONDS * 1000,
    },
    new KubeClient({ access: await clusterAccess() }),
    log,
  );
}

async function clusterAccess(): Promise<Access> {
  try {
    const { kubeconfigAccess, podAccess } = await import('../../lib/kube/credentials.ts');
    return (await podAccess(process.env)) ?? (await kubeconfigAccess({}));
  } catch (error) {
    const accepts = `kubernetes in a Pod, or with a usable kubeconfig: ${(error as Error).message}`;
    throw new ConfigError([{ name: 'SANDBOX_BACKEND', got: '"kubernetes"', accepts }]);
  }
}

function localSettings(settings: SandboxSettings): LocalSettings {
  return {
    isolation: settings.SANDBOX_ISOLATION,
    runsc: settings.RUNSC,
    stateDir: settings.STATE_DIR,
    warm: settings.SANDBOX_WARM,
    limits: {
      memoryBytes: settings.SANDBOX_MEMORY_MIB * MIB,
      diskBytes: settings.SANDBOX_DISK_MIB * MIB,
      processes: settings.SANDBOX_PROCESSES,
      cpus: settings.SANDBOX_CPUS,
    },
    outputBytes: settings.SANDBOX_OUTPUT_KIB * KIB,
    fileBytes: settings.SANDBOX_FILE_KIB * KIB,
  };
}

function readHandleKey(path: string | undefined): Buffer {
  if (path === undefined) return randomBytes(32);
  const refuse = (accepts: string) => new ConfigError([{ name: 'SANDBOX_HANDLE_KEY_FILE', got: JSON.stringify(path), accepts }]);
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw refuse(`a readable file: ${(error as Error).message}`);
  }
  // never shown, whatever is in it
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw refuse('a file with 64 hexadecimal digits; make one with: openssl rand -hex 32');
  return Buffer.from(text, 'hex');
}

if (import.meta.main) await runProcess('sandbox', sandboxConfig, startSandbox);
