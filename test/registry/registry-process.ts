import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../mcp-servers/registry/main.ts', import.meta.url));

export interface RegistryProcess {
  readonly url: string;
  readonly pid: number;
  /** resolves when the process is gone */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Runs the registry as users do, from its environment.
 * @param fileBytes no file of the process grows beyond this, as on a disk that is full
 * @throws Error with what it wrote to stderr when it ends before it listens
 */
export async function startRegistryProcess(settings: Readonly<Record<string, string>>, fileBytes?: number): Promise<RegistryProcess> {
  const child = launch(settings, fileBytes);
  const errors = collect(child);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const url = await Promise.race([
    listeningAt(child),
    exited.then(async ([code]) => Promise.reject(new Error(`exit ${String(code)}: ${await errors}`))),
  ]);
  return {
    url,
    pid: child.pid ?? 0,
    stop: async (signal) => {
      child.kill(signal);
      const [code, by] = await exited;
      return { code, signal: by };
    },
  };
}

/** Runs it with settings that should not work, until it ends. */
export async function runRegistryProcess(settings: Readonly<Record<string, string>>): Promise<{ code: number | null; stderr: string }> {
  const child = launch(settings);
  const stderr = collect(child);
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, stderr: await stderr };
}

/** A shell counts the size of files in blocks of 512 bytes. */
const BLOCK_BYTES = 512;

function launch(settings: Readonly<Record<string, string>>, fileBytes?: number): ChildProcess {
  const env = { PATH: process.env['PATH'] ?? '', PORT: '0', DRAIN_SECONDS: '0', ...settings };
  const limit = fileBytes === undefined ? 'unlimited' : String(fileBytes / BLOCK_BYTES);
  return spawn('sh', ['-c', `ulimit -f ${limit}; exec "$0" "$1"`, process.execPath, main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function collect({ stderr }: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of stderr ?? []) text += String(chunk);
  return text;
}

/** Its log says where, once. The rest of the log is read too, so that the pipe never fills. */
function listeningAt({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (stdout === null) return;
    createInterface({ input: stdout }).on('line', (line) => {
      const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === 'listening' && url !== undefined) resolve(url);
    });
  });
}
