import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exit } from './exit.ts';
import { plain, type Terminal } from './terminal.ts';
import { validate, type Verdict } from './validate.ts';

const valid = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'org.example/weather',
  description: 'Tells the weather.',
  version: '1.0.0',
  remotes: [{ type: 'streamable-http', url: 'https://weather.example.org/mcp' }],
};

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'toolyard-validate-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function declare(name: string, content: unknown, file = 'server.json'): void {
  mkdirSync(join(dir, name), { recursive: true });
  const bytes = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
  writeFileSync(join(dir, name, file), bytes);
}

async function judged(local = false, path = dir): Promise<{ code: number; verdicts: Verdict[]; lines: string[] }> {
  const lines: string[] = [];
  const documents: unknown[] = [];
  const terminal: Terminal = {
    json: false,
    paint: plain,
    paintNote: plain,
    live: undefined,
    line: (text = '') => lines.push(text),
    prose: (text) => lines.push(text),
    note: (text) => lines.push(text),
    data: (value) => documents.push(value),
    printable: String,
  };
  const code = await validate({ dir: path, local }, terminal);
  return { code, verdicts: (documents[0] as { files: Verdict[] }).files, lines };
}

const pathsOf = (verdict: Verdict | undefined) => verdict?.faults.map(({ path }) => path);

test('a catalog without faults passes', async () => {
  declare('weather', valid);
  const { code, lines } = await judged();
  expect(code).toBe(exit.done);
  expect(lines.at(-1)).toBe('1 file, no faults');
});

test('every fault of every file is shown with its path, and one is enough to fail', async () => {
  declare('a', { ...valid, description: 'x'.repeat(101), version: 'latest', surprise: 1 });
  declare('b', valid);
  declare('b', { endpoint: 'ftp://x', colour: 'red' }, 'toolyard.json');
  const { code, verdicts, lines } = await judged();
  expect(code).toBe(exit.no);
  expect(pathsOf(verdicts[0])?.toSorted()).toEqual(['description', 'surprise', 'version']);
  expect(pathsOf(verdicts[1])?.toSorted()).toEqual(['toolyard.json: colour', 'toolyard.json: endpoint']);
  expect(lines.join('\n')).toContain('description: ');
  expect(lines.at(-1)).toBe('2 files, 5 faults');
});

test('what is no JSON, not UTF-8, empty, too large, a directory or a pipe is a fault of that file alone', async () => {
  declare('a', '{"name": ');
  declare('b', Buffer.from([0x7b, 0xff, 0x7d]));
  declare('c', '');
  declare('d', 'x'.repeat(5_000_000));
  mkdirSync(join(dir, 'e', 'server.json'), { recursive: true });
  mkdirSync(join(dir, 'f'));
  execFileSync('mkfifo', [join(dir, 'f', 'server.json')]);
  declare('g', valid);
  const { code, verdicts } = await judged();
  expect(code).toBe(exit.no);
  expect(verdicts.map(({ faults }) => faults.length)).toEqual([1, 1, 1, 1, 1, 1, 0]);
  expect(verdicts[3]?.faults[0]?.message).toContain('5000000 bytes');
});

test('two files that declare one version of one name are both at fault; two versions are not', async () => {
  declare('a', valid);
  declare('b', valid);
  declare('c', { ...valid, version: '1.0.1' });
  const { verdicts } = await judged();
  expect(verdicts.map(pathsOf)).toEqual([['version'], ['version'], []]);
});

test('an address on this machine is a fault, unless it is judged as toolyard up does', async () => {
  declare('a', { ...valid, remotes: [{ type: 'streamable-http', url: 'http://127.0.0.1:9000/mcp' }] });
  const strict = await judged();
  expect(strict.code).toBe(exit.no);
  expect(strict.lines.at(-1)).toContain('--local');
  expect((await judged(true)).code).toBe(exit.done);
});

test('http to another machine is a fault either way', async () => {
  declare('a', { ...valid, remotes: [{ type: 'streamable-http', url: 'http://10.0.0.1/mcp' }] });
  expect((await judged(true)).code).toBe(exit.no);
});

test('one declaration can be named by its directory or by its file', async () => {
  declare('a', valid);
  expect((await judged(false, join(dir, 'a'))).verdicts).toHaveLength(1);
  expect((await judged(false, join(dir, 'a', 'server.json'))).verdicts).toHaveLength(1);
});

test('a directory that is not there, or holds no declaration, is not taken for one without faults', async () => {
  await expect(judged()).rejects.toMatchObject({ code: exit.notFound });
  await expect(judged(false, join(dir, 'nowhere'))).rejects.toMatchObject({ code: exit.notFound });
});
