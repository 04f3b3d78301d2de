import { join } from 'node:path';
import { startServer, type ServerProcess } from '../test/mcp-http/server-process.ts';

const home = join(import.meta.dirname, '..');

/**
 * One of toolyard's processes as users run it, from the environment alone; it ends with the stack. BENCH_NODE_OPTIONS is handed on to it as
 * NODE_OPTIONS, for profiles: `--cpu-prof --cpu-prof-dir=DIR`.
 * @param main its main.ts, from the checkout on
 * @throws Error with what it wrote, when it does not start
 */
export async function startPart(stack: AsyncDisposableStack, main: string, env: Readonly<Record<string, string>>): Promise<Part> {
  const nodeOptions = process.env['BENCH_NODE_OPTIONS'];
  const running = await startServer(join(home, main), { ...env, ...(nodeOptions !== undefined && { NODE_OPTIONS: nodeOptions }) });
  stack.defer(async () => void (await running.close()));
  return { url: running.url, pid: running.child.pid ?? Number.NaN, log: () => running.log() };
}

export interface Part extends Pick<ServerProcess, 'url' | 'log'> {
  readonly pid: number;
}
