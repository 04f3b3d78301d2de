import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { GroupCommit } from './group-commit.ts';

function open(): { database: DatabaseSync; commits: number[]; writes: GroupCommit; values: () => number[] } {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (value INTEGER UNIQUE)');
  const commits: number[] = [];
  const writes = new GroupCommit(database, (count) => commits.push(count));
  return {
    database,
    commits,
    writes,
    values: () =>
      database
        .prepare('SELECT value FROM t ORDER BY value')
        .all()
        .map(({ value }) => Number(value)),
  };
}

test('writes of one turn share a commit, each settled only after it', async () => {
  const { database, commits, writes, values } = open();
  const insert = (value: number) =>
    writes.run(() => {
      database.exec(`INSERT INTO t VALUES (${value})`);
      return value;
    });
  const settled = Promise.all([1, 2, 3].map(insert));
  expect(values()).toEqual([]);
  expect(await settled).toEqual([1, 2, 3]);
  expect(database.isTransaction).toBe(false);
  await insert(4);
  expect([commits, values()]).toEqual([
    [3, 1],
    [1, 2, 3, 4],
  ]);
});

test('a refusal undoes what it did itself, and nothing of its neighbours', async () => {
  const { database, commits, writes, values } = open();
  const outcomes = await Promise.allSettled([
    writes.run(() => database.exec('INSERT INTO t VALUES (1)')),
    writes.run(() => {
      database.exec('INSERT INTO t VALUES (2)');
      throw new Error('refused');
    }),
    writes.run(() => database.exec('INSERT INTO t VALUES (1)')),
    writes.run(() => database.exec('INSERT INTO t VALUES (3)')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect([commits, values()]).toEqual([[2], [1, 3]]);
});

test('when all were refused nothing changed, and nobody is told of a commit', async () => {
  const { commits, writes } = open();
  await expect(
    writes.run(() => {
      throw new Error('refused');
    }),
  ).rejects.toThrow('refused');
  expect(commits).toEqual([]);
});

test('when the commit fails, every write of it fails and none is kept', async () => {
  const { database, commits, writes, values } = open();
  database.exec('PRAGMA foreign_keys = ON; CREATE TABLE child (value INTEGER REFERENCES t (value) DEFERRABLE INITIALLY DEFERRED)');
  const outcomes = await Promise.allSettled([
    writes.run(() => database.exec('INSERT INTO t VALUES (1)')),
    writes.run(() => database.exec('INSERT INTO child VALUES (99)')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([commits, values(), database.isTransaction]).toEqual([[], [], false]);
  await writes.run(() => database.exec('INSERT INTO t VALUES (2)'));
  expect(values()).toEqual([2]);
});

test('flush commits what waits', () => {
  const { database, writes, values } = open();
  void writes.run(() => database.exec('INSERT INTO t VALUES (1)'));
  writes.flush();
  expect(values()).toEqual([1]);
});

test('a write that comes after the database was closed fails, and nothing else does', async () => {
  const { database, writes } = open();
  database.close();
  await expect(writes.run(() => 1)).rejects.toThrow('not open');
});
