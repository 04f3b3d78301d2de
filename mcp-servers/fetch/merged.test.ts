import { expect, test } from 'vitest';
import { Merged } from './merged.ts';

const staying = (): AbortSignal => new AbortController().signal;

test('work is done once for all who ask for it while it is done, and again afterwards', async () => {
  const merged = new Merged<number>();
  const done = Promise.withResolvers<number>();
  let times = 0;
  const ask = (key: string) =>
    merged.run(key, { signal: staying() }, () => {
      times += 1;
      return done.promise;
    });
  const asking = [ask('a'), ask('a'), ask('b')];
  expect(times).toBe(2);
  done.resolve(7);
  expect(await Promise.all(asking)).toEqual([7, 7, 7]);
  await ask('a');
  expect(times).toBe(3);
});

test('a failure is everybody’s, and is not remembered', async () => {
  const merged = new Merged<number>();
  const fail = () => Promise.reject(new Error('broken'));
  const outcomes = await Promise.allSettled([1, 2].map(() => merged.run('a', { signal: staying() }, fail)));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await merged.run('a', { signal: staying() }, () => Promise.resolve(1))).toBe(1);
});

test('who leaves takes nobody along; the last to leave stops the work, and who comes then begins anew', async () => {
  const merged = new Merged<string>();
  const done = Promise.withResolvers<string>();
  const stops: AbortSignal[] = [];
  const work = (stop: AbortSignal) => {
    stops.push(stop);
    return done.promise;
  };
  const [first, second] = [new AbortController(), new AbortController()];
  const [one, two] = [first, second].map(({ signal }) => merged.run('a', { signal }, work));
  first.abort(new Error('first left'));
  await expect(one).rejects.toThrow('first left');
  expect(stops[0]?.aborted).toBe(false);
  second.abort(new Error('second left'));
  await expect(two).rejects.toThrow('second left');
  expect(stops[0]?.aborted).toBe(true);
  const third = merged.run('a', { signal: staying() }, work);
  expect(stops).toHaveLength(2);
  done.resolve('done');
  expect(await third).toBe('done');
  expect(stops[1]?.aborted).toBe(false);
});

test('news reach all who still wait, and the last of them who come later', async () => {
  const merged = new Merged<string, number>();
  const done = Promise.withResolvers<string>();
  const heard: string[] = [];
  let tell: (news: number) => void = () => {};
  const leave = new AbortController();
  const ask = (name: string, signal: AbortSignal) =>
    merged.run('a', { signal, listener: (news) => heard.push(`${name}${news}`) }, (_stop, telling) => {
      tell = telling;
      telling(0);
      return done.promise;
    });
  const [leaving, waiting] = [ask('a', leave.signal), ask('b', staying())];
  tell(1);
  leave.abort(new Error('left'));
  await expect(leaving).rejects.toThrow('left');
  tell(2);
  const coming = ask('c', staying());
  done.resolve('done');
  await Promise.all([waiting, coming]);
  expect(heard).toEqual(['a0', 'b0', 'a1', 'b1', 'b2', 'c2']);
});
