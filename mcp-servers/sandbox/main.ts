import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { ConfigError } from '../../lib/config.ts';
import type { HttpHost } from '../../lib/http-host/host.ts';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { sandboxConfig, type SandboxSettings } from './config.ts';
import { Handles } from './handles.ts';
import { LocalBackend, type LocalSettings } from './local/backend.ts';
import { Sandboxes } from './sandboxes.ts';
import { createSandboxServer } from './server.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Serves the sandbox tools until closed, when every sandbox is removed. It answers at once; /readyz says when sandboxes can be made.
 * @throws ConfigError, ListenError
 */
export async function startSandbox(settings: SandboxSettings): Promise<HttpHost> {
  const log = createLog('sandbox', settings.LOG_LEVEL);
  const handles = new Handles(readHandleKey(settings.SANDBOX_HANDLE_KEY_FILE));
  const metrics = new Registry();
  const backend = new LocalBackend(localSettings(settings), log);
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
      // sandboxes end with this process: nobody need wait for what runs in them
      onDrain: () => backend.close(),
    });
  } catch (error) {
    await backend.close();
    throw error;
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
