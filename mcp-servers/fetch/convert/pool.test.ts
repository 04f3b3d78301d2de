import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { WorkerPool } from './pool.ts';

type Job = 'who' | 'fail' | 'wait' | 'connect' | 'write' | 'environment';

let directory: string;
let script: URL;
const pools: WorkerPool<Job, string>[] = [];
const patient = new AbortController().signal;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-pool-'));
  script = pathToFileURL(join(directory, 'worker.mjs'));
  await writeFile(
    script,
    `import { once } from 'node:events';
     import { writeFile } from 'node:fs/promises';
     import { connect } from 'node:net';
     const jobs = {
       who: () => String(process.pid),
       fail: () => process.exit(3),
       wait: () => new Promise(() => {}),
       connect: async () => once(connect(9, '127.0.0.1'), 'connect').then(() => 'connected', ({ code }) => code),
       write: () => writeFile(import.meta.filename, '').then(() => 'written', ({ code }) => code),
       environment: () => Object.keys(process.env).join(),
     };
     process.on('message', async (job) => process.send(await jobs[job]()));`,
  );
});
afterEach(() => {
  for (const pool of pools.splice(0)) pool.close();
});
afterAll(() => rm(directory, { recursive: true }));

function poolOf(keep: number): WorkerPool<Job, string> {
  const pool = new WorkerPool<Job, string>({ script, keep, memoryMb: 32 });
  pools.push(pool);
  return pool;
}

test('workers are kept for further jobs, as many as told', async () => {
  const pool = poolOf(2);
  const first = await Promise.all([pool.run('who', patient), pool.run('who', patient), pool.run('who', patient)]);
  expect(new Set(first).size).toBe(3);
  const again = await Promise.all([pool.run('who', patient), pool.run('who', patient), pool.run('who', patient)]);
  expect(again.filter((worker) => first.includes(worker))).toHaveLength(2);
});

test('further workers wait a while for the next burst, then they end', async () => {
  const pool = new WorkerPool<Job, string>({ script, keep: 1, memoryMb: 32, lingerMs: 500 });
  pools.push(pool);
  const burst = () => Promise.all([pool.run('who', patient), pool.run('who', patient)]);
  const first = await burst();
  expect(new Set(await burst())).toEqual(new Set(first));
  await expect.poll(() => first.map(Number).filter(isRunning).length, { timeout: 5_000 }).toBe(1);
});

test('a job that kills its worker takes no other along', async () => {
  const pool = poolOf(1);
  const worker = await pool.run('who', patient);
  await expect(pool.run('fail', patient)).rejects.toThrow('the worker ended before it answered: exit code 3');
  expect(await pool.run('who', patient)).not.toBe(worker);
});

test('a job that is given up is ended', async () => {
  const pool = poolOf(1);
  const worker = Number(await pool.run('who', patient));
  const leave = new AbortController();
  const given = pool.run('wait', leave.signal);
  leave.abort(new Error('left'));
  await expect(given).rejects.toThrow('left');
  await expect.poll(() => isRunning(worker)).toBe(false);
  await expect(pool.run('who', AbortSignal.abort(new Error('gone already')))).rejects.toThrow('gone already');
});

test('closing ends every worker, busy or not', async () => {
  const pool = poolOf(2);
  const workers = await Promise.all([pool.run('who', patient), pool.run('who', patient)]);
  const given = pool.run('wait', patient);
  pool.close();
  await expect(given).rejects.toThrow('the worker ended before it answered: SIGKILL');
  await expect.poll(() => workers.map(Number).filter(isRunning)).toEqual([]);
});

test.each(['', 'compiled'])('workers start whether compiled code is kept or not: "%s"', async (name) => {
  vi.stubEnv('NODE_COMPILE_CACHE', name === '' ? '' : join(directory, name));
  expect(await poolOf(1).run('write', patient)).toBe('ERR_ACCESS_DENIED');
  vi.unstubAllEnvs();
});

describe('a worker', () => {
  test.each([
    ['connect', /^ERR_ACCESS_DENIED$/],
    ['write', /^ERR_ACCESS_DENIED$/],
    ['environment', /^(?!.*PATH)/],
  ] as const)('can do nothing but its job: %s', async (job, answer) => {
    expect(await poolOf(1).run(job, patient)).toMatch(answer);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
