import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listingCommand, shown, shownOf, takeListing } from './products.ts';

const nonce = '0123456789abcdef0123456789abcdef';
let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'toyd-products-'))));
afterEach(() => rmSync(directory, { recursive: true }));

function put(path: string, content: string, age = 0): void {
  mkdirSync(join(directory, path, '..'), { recursive: true });
  writeFileSync(join(directory, path), content);
  const at = Date.now() / 1000 - age;
  utimesSync(join(directory, path), at, at);
}

test('lists what is newer than the program, by path, and nothing that is hidden or an interpreter’s own', () => {
  const listing = { mark: join(directory, '.program.py'), nonce };
  put('old.txt', 'old', 60);
  put('.program.py', 'pass', 30);
  for (const path of ['b.csv', 'a/sp ace\n"x".png', '.hidden', '.cache/x', '__pycache__/x.pyc', 'node_modules/m/x.js']) put(path, '12345');
  const line = `printf before >&2; ${listingCommand(listing)} >&2`;
  const { stderr } = spawnSync('sh', ['-c', line], { cwd: directory });
  const taken = takeListing(stderr, listing);
  expect(Buffer.from(taken?.rest ?? []).toString()).toBe('before');
  expect(taken?.products).toEqual([
    { path: 'a/sp ace\n"x".png', size: 5 },
    { path: 'b.csv', size: 5 },
  ]);
});

test('a list that is cut off is none, and entries that make no sense are left out', () => {
  const bound = `\0${nonce}\0`;
  const take = (text: string) => takeListing(Buffer.from(text), { mark: '', nonce })?.products;
  expect(take(`${bound}5 a\0`)).toBeUndefined();
  expect(take('nothing')).toBeUndefined();
  expect(take(`${bound}5 a\0nonsense\0-1 b\0${'9'.repeat(20)} c\x005 cut${bound}`)).toEqual([{ path: 'a', size: 5 }]);
  expect(take(`${bound}${Array.from({ length: 300 }, (_, n) => `1 f${n}\0`).join('')}${bound}`)).toHaveLength(100);
});

test('shows small pictures and tables, as many as there is room for', () => {
  const product = (path: string, size: number) => ({ path, size });
  const products = [
    product('a.png', 900_000),
    product('b.PNG', 300_000),
    product('c.csv', 40_000),
    product('d.tsv', 400),
    product('e.txt', 1),
    product('f.jpg', 0),
  ];
  expect(shownOf(products).map(({ path }) => path)).toEqual(['a.png', 'd.tsv']);
  expect(shownOf(Array.from({ length: 20 }, (_, n) => product(`${n}.gif`, 10)))).toHaveLength(8);
});

test('shows a picture only when it is one, and a table only when it is text', () => {
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
  expect(shown({ path: 'a.png', size: 10 }, png)).toEqual({ type: 'image', data: png.toString('base64'), mimeType: 'image/png' });
  expect(shown({ path: 'a.jpg', size: 10 }, png)).toMatchObject({ mimeType: 'image/png' });
  expect(shown({ path: 'a.png', size: 10 }, Buffer.from('<svg onload=x>'))).toBeUndefined();
  expect(shown({ path: 't.csv', size: 4 }, Buffer.from('a,b\n1,2\n'))).toEqual({ type: 'text', text: 't.csv:\na,b\n1,2\n' });
  expect(shown({ path: 't.csv', size: 4 }, Buffer.from([0xff, 0xfe, 0x00]))).toBeUndefined();
});
