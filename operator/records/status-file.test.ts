import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StatusFile } from './status-file.ts';
import type { OperatorView } from './status.ts';

let root: string;
let path: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolyard-status-'));
  path = join(root, 'status.json');
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const time = '2026-01-01T00:00:00.000Z';
const view: OperatorView = {
  version: 1,
  install: 'toolyard',
  updatedAt: time,
  registry: { url: 'http://registry.test', state: 'up', since: time },
  declarations: [
    {
      source: 'catalog/x/server.json',
      name: 'com.example/x',
      version: '1.0.0',
      state: 'Refused',
      conditions: [{ type: 'Accepted', status: 'False', reason: 'InvalidRecord', message: 'm', lastTransitionTime: time }],
      faults: [{ path: 'name', message: 'm' }],
      tools: { count: 1, digest: 'sha256:0', names: ['t'] },
    },
  ],
};

test('what was written is read again', async () => {
  await new StatusFile(path).write(view);
  expect(await new StatusFile(path).read()).toEqual(view);
});

const [declaration] = view.declarations;
test.each([
  ['nothing', ''],
  ['a part', JSON.stringify(view).slice(0, 100)],
  ['null', 'null'],
  ['another version', JSON.stringify({ ...view, version: 2 })],
  ['no declarations', JSON.stringify({ version: 1 })],
  ['a declaration that is null', JSON.stringify({ ...view, declarations: [null] })],
  ['a declaration without conditions', JSON.stringify({ ...view, declarations: [{ ...declaration, conditions: undefined }] })],
  ['conditions that are none', JSON.stringify({ ...view, declarations: [{ ...declaration, conditions: [null] }] })],
  ['a time that is none', JSON.stringify(view).replaceAll(time, 'yesterday')],
])('a file that holds %s is as good as none', async (_what, text) => {
  await writeFile(path, text);
  expect(await new StatusFile(path).read()).toBeUndefined();
});

test('a file that could not be written is written once that is possible', async () => {
  const blocked = join(path, 'below-a-file', 'status.json');
  await writeFile(path, '');
  const file = new StatusFile(blocked);
  await expect(file.write(view)).rejects.toThrow('ENOTDIR');
  await rm(path);
  await file.write(view);
  expect(JSON.parse(await readFile(blocked, 'utf8'))).toEqual(view);
});

test('drafts of operators that were killed while they wrote are removed, those of running ones and other files stay', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['--version']);
  const stay = [`status.json.${process.ppid}.tmp`, 'status.json.tmp', `other.json.${gone}.tmp`];
  for (const name of [...stay, `status.json.${gone}.tmp`, `status.json.${process.pid}.tmp`]) await writeFile(join(root, name), '{');
  await new StatusFile(path).read();
  expect((await readdir(root)).toSorted()).toEqual(stay.toSorted());
});
