import { writesSince, now, OPERATOR } from './audit.ts';
import { api, eventually } from './cluster.ts';
import { declaration, declare, published, recordOf, registry, TEAM_A } from './yard.ts';

/** Requests under way at once, as of somebody who applies a directory of files. */
const AT_A_TIME = 8;
/** Events of what just happened follow a little later. */
const SILENT_MS = 10_000;

/** Declares servers one after the other. @returns the time from each declaration to its readable record, ms */
export async function declareInTurn(names: readonly string[]): Promise<readonly number[]> {
  const took: number[] = [];
  for (const name of names) {
    const began = performance.now();
    await declare({ name });
    await published(recordOf(name), undefined, { everyMs: 10 });
    took.push(performance.now() - began);
  }
  return took;
}

/** Declares all of them at once. @returns the same, when the last one is readable */
export async function declareTogether(names: readonly string[]): Promise<readonly number[]> {
  const appliedAt = new Map<string, number>();
  const readableAt = new Map<string, number>();
  const waiting = [...names];
  const apply = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      appliedAt.set(recordOf(name), performance.now());
      await api.create(declaration({ name }));
    }
  };
  const applying = Promise.all(Array.from({ length: AT_A_TIME }, apply));
  const client = await registry();
  const look = async (): Promise<boolean> => {
    for (const { server } of await client.listAll({ version: 'latest' })) {
      if (!readableAt.has(server.name)) readableAt.set(server.name, performance.now());
    }
    return names.every((name) => readableAt.has(recordOf(name)));
  };
  await Promise.all([applying, eventually('every record', look, { timeoutMs: 600_000, everyMs: 50 })]);
  return [...appliedAt].map(([name, at]) => (readableAt.get(name) ?? Infinity) - at);
}

/** Waits until so many declarations say that they are published, and the operator has nothing more to write. */
export async function settled(count: number): Promise<void> {
  const all = async () =>
    (await api.list({ kind: 'ConfigMap', namespace: TEAM_A, selector: 'toolyard.dev/state=Published' })).length >= count;
  await eventually('every status', all, { timeoutMs: 300_000, everyMs: 1000 });
  let [mark, since] = [await now(), performance.now()];
  const isSilent = async () => {
    if ((await writesSince(mark, OPERATOR)).length > 0) [mark, since] = [await now(), performance.now()];
    return performance.now() - since > SILENT_MS;
  };
  await eventually('the operator to fall silent', isSilent, { timeoutMs: 300_000, everyMs: 1000 });
}
