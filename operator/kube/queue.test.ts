import { expect, test } from 'vitest';
import { WorkQueue } from './queue.ts';

/** A queue whose work and waits end when a test says so. */
function bench(concurrency = 2) {
  const started: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const waits: { ms: number; end: () => void }[] = [];
  const queue = new WorkQueue({
    concurrency,
    random: () => 1,
    wait: (ms) => new Promise((end) => waits.push({ ms, end })),
    work: (key, signal) => {
      started.push(key);
      const deferred = Promise.withResolvers<void>();
      running.set(key, deferred);
      signal.addEventListener('abort', () => deferred.reject(signal.reason));
      return deferred.promise;
    },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { queue, started, running, waits, settle };
}

test('a key is worked on once at a time, and once more when it was added meanwhile', async () => {
  const { queue, started, running, settle } = bench();
  for (const key of ['a', 'a', 'a']) queue.add(key);
  expect(started).toEqual(['a']);
  queue.add('a');
  running.get('a')?.resolve();
  await settle();
  expect(started).toEqual(['a', 'a']);
  running.get('a')?.resolve();
  await settle();
  expect(queue.size).toBe(0);
});

test('no more than so many keys are worked on at a time, in the order in which they came', async () => {
  const { queue, started, running, settle } = bench();
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  expect(started).toEqual(['a', 'b']);
  running.get('b')?.resolve();
  await settle();
  expect(started).toEqual(['a', 'b', 'c']);
});

test('what fails is tried again ever later, and holds up no other', async () => {
  const { queue, started, running, waits, settle } = bench(1);
  queue.add('a');
  queue.add('b');
  running.get('a')?.reject(new Error('no'));
  await settle();
  expect(started).toEqual(['a', 'b']);
  running.get('b')?.resolve();
  const failAgain = async (): Promise<void> => {
    waits.at(-1)?.end();
    await settle();
    running.get('a')?.reject(new Error('no'));
    await settle();
  };
  for (let failure = 0; failure < 12; failure += 1) await failAgain();
  expect(waits.map(({ ms }) => ms).slice(0, 5)).toEqual([200, 400, 800, 1600, 3200]);
  expect(waits.at(-1)?.ms).toBe(60_000);
  waits.at(-1)?.end();
  await settle();
  running.get('a')?.resolve();
  await settle();
  queue.add('a');
  running.get('a')?.reject(new Error('again'));
  await settle();
  expect(waits.at(-1)?.ms).toBe(200);
});

test('closing aborts what is under way and begins nothing', async () => {
  const { queue, started } = bench(1);
  queue.add('a');
  queue.add('b');
  await queue.close();
  queue.add('c');
  expect(started).toEqual(['a']);
});
