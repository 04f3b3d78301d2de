import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** One server of toolyard as its own process, on a free port. */
export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** what it wrote to standard output so far */
  log(): string;
  /** Stops it and resolves with its exit code, null when a signal ended it. */
  close(): Promise<number | null>;
}

const START_TIMEOUT_MS = 20_000;

/** The environment of a server in tests: nothing of ours, a free port, no grace period. */
export function serverEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE, PORT: '0', METRICS_PORT: 'off', DRAIN_SECONDS: '0', ...env };
}

/** Runs `node MAIN` and resolves once it listens. @throws Error with what it wrote, when it ends before */
export async function startServer(main: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const child = spawn(process.execPath, [main], { env: serverEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  let log = '';
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const url = await new Promise<string>((resolve, reject) => {
    const fail = (what: string) => {
      child.kill('SIGKILL');
      reject(new Error(`${main} ${what}\n${log}${errors}`));
    };
    const timer = setTimeout(() => fail(`did not listen within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    createInterface({ input: child.stdout }).on('line', (line) => {
      log += `${line}\n`;
      const found = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(line)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    void exited.then(([code]) => fail(`ended with ${code}`)).finally(() => clearTimeout(timer));
  });
  const close = async () => {
    child.kill();
    return (await exited)[0];
  };
  return { url, child, log: () => log, close };
}
