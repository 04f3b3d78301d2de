import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const RUN_TIMEOUT_MS = 50_000;

export type Revision = '2025-11-25' | '2026-07-28';

/** One thing that a scenario of the conformance suite looks at. */
export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs a command that an installed package brings, under this Node. */
export async function runBin(packageName: string, bin: string, args: readonly string[]): Promise<Ended> {
  const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
  const { bin: bins } = JSON.parse(await readFile(manifest, 'utf8')) as { bin: Record<string, string> };
  const script = join(dirname(manifest), String(bins[bin]));
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { timeout: RUN_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

/** Runs what one revision requires of servers (`@modelcontextprotocol/conformance`); the checks made, by scenario. */
export async function runConformance(url: string, revision: Revision): Promise<ReadonlyMap<string, readonly Check[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'toolyard-conformance-'));
  try {
    const args = ['server', '--url', url, '--requirements', revision, '-o', directory];
    const { output } = await runBin('@modelcontextprotocol/conformance', 'conformance', args);
    const results = await readdir(directory);
    if (results.length === 0) throw new Error(`the conformance suite wrote no results:\n${output}`);
    return new Map(await Promise.all(results.map((name) => readResult(directory, name))));
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function readResult(directory: string, name: string): Promise<[string, readonly Check[]]> {
  const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
  return [scenario, JSON.parse(await readFile(join(directory, name, 'checks.json'), 'utf8')) as Check[]];
}
