import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Asked, Told } from './endpoints.ts';

type Counted = Extract<Told, { is: 'counted' }>;

/** Live MCP endpoints, each with a port of its own, served by a few processes. */
export class Farm implements AsyncDisposable {
  readonly #processes: readonly ChildProcess[];
  readonly urls: readonly string[];

  private constructor(processes: readonly ChildProcess[], urls: readonly string[]) {
    this.#processes = processes;
    this.urls = urls;
  }

  /** @param endpoints at least `processes` of them */
  static async start(endpoints: number, processes: number): Promise<Farm> {
    const forked = Array.from({ length: processes }, () => fork(join(import.meta.dirname, 'endpoints.ts'), { execArgv: [] }));
    const served = await Promise.all(
      forked.map((child, index) => ask(child, { do: 'serve', endpoints: shareOf(endpoints, processes, index) })),
    );
    return new Farm(
      forked,
      served.flatMap((told) => (told.is === 'serving' ? told.urls : [])),
    );
  }

  /** What happened since the last count, or since the start. */
  async count(): Promise<Omit<Counted, 'is'>> {
    const told = await Promise.all(this.#processes.map((child) => ask(child, { do: 'count' })));
    const counted = told.filter((one): one is Counted => one.is === 'counted');
    return {
      requests: counted.reduce((sum, { requests }) => sum + requests, 0),
      longestSilenceMs: Math.max(...counted.map(({ longestSilenceMs }) => longestSilenceMs)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#processes.map((child) => once(child, 'exit'));
    for (const child of this.#processes) child.kill('SIGKILL');
    await Promise.all(ended);
  }
}

function shareOf(all: number, parts: number, part: number): number {
  return Math.floor((all * (part + 1)) / parts) - Math.floor((all * part) / parts);
}

async function ask(child: ChildProcess, asked: Asked): Promise<Told> {
  const told = once(child, 'message');
  child.send(asked);
  const [answer] = (await told) as [Told];
  return answer;
}
