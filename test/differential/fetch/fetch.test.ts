import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labelledPages, scoreOf, sumOf, type Labelled } from '../../fetch/quality/labels.ts';
import { differences } from './differences.ts';
import { emoji } from './site.ts';
import { TwoServers } from './two-servers.ts';

const home = join(import.meta.dirname, '..', '..', '..');
const MIN_PAGES = 60;

let servers: TwoServers;
beforeAll(async () => {
  servers = await TwoServers.start();
});
afterAll(() => servers.close());

const at = (path: string): string => `${servers.sites.main.origin}${path}`;

describe('the same, to the character', () => {
  test('every page that has no reason to differ, in the tool, raw, and in the prompt', async () => {
    const asks = servers.sites.alike.flatMap((path) => [
      { tool: { url: at(path) } },
      { tool: { url: at(path), raw: true } },
      { prompt: { url: at(path) } },
    ]);
    const answers = await Promise.all(asks.map((ask) => servers.ask(ask)));
    const of = (side: 'theirs' | 'ours') => answers.map((answer, index) => [JSON.stringify(asks[index]), answer[side]]);
    expect(of('ours')).toEqual(of('theirs'));
  });

  test.concurrent('parts of a text, wherever they begin and however long they are', async () => {
    const length = Array.from(emoji).length;
    const parts = [0, 1, 2, 1_499, 2_999, 5_999, 6_000, 6_001, 99_999].flatMap((start) =>
      [1, 2, 3, 1_500, 5_000, length, 999_999].map((most) => ({ tool: { url: at('/emoji'), start_index: start, max_length: most } })),
    );
    for (const answer of await Promise.all(parts.map((part) => servers.ask(part)))) expect(answer.ours).toBe(answer.theirs);
  });

  test.concurrent.each([
    ['a bare host', () => servers.sites.main.origin],
    ['a scheme in capitals', () => at('/data.json').replace('http', 'HTTP')],
    ['a short address', () => at('/data.json').replace('127.0.0.1', '127.1')],
    ['a number as address', () => at('/data.json').replace('127.0.0.1', '2130706433')],
    ['a fragment', () => at('/method?q=1#part')],
    ['credentials', () => at('/authorization').replace('//', '//us%65r:p%40ss@')],
    ['dots in its path', () => at('/a/../data.json')],
  ])('the name of a URL with %s', async (_name, url) => {
    const { theirs, ours } = await servers.ask({ tool: { url: url() } });
    expect(ours).toBe(theirs);
  });

  test.concurrent('parameters that there are not are ignored', async () => {
    const { theirs, ours } = await servers.ask({ tool: { url: at('/data.json'), selector: 'main', max_length: 3 } });
    expect(ours).toBe(theirs);
    expect(ours).toMatch(/^ok .*start_index of 3 to get more content/);
  });

  test.concurrent('parameters, annotations and the prompt, as they are listed', async () => {
    const tools = await servers.ask({ list: 'tools' });
    const [theirs, ours] = [tools.theirs, tools.ours].map((text) => {
      const { tools: listed } = JSON.parse(text) as { tools: Record<string, unknown>[] };
      return listed.map(({ description: _, ...tool }) => tool);
    });
    expect(ours).toEqual(theirs);
    const prompts = await servers.ask({ list: 'prompts' });
    expect(JSON.parse(prompts.ours)).toMatchObject(JSON.parse(prompts.theirs) as object);
  });

  test.concurrent('failures of the prompt, without its URL too', async () => {
    const prompts: readonly Record<string, string>[] = [{ url: at('/410') }, {}];
    for (const prompt of prompts) {
      const { theirs, ours } = await servers.ask({ prompt });
      expect(ours.replace(/^(-\d+) MCP error -\d+: /, '$1 ')).toBe(theirs.replace(/^(-\d+) MCP error -\d+: /, '$1 '));
    }
  });

  test.concurrent('the head of a page that is simplified, and where its next part begins', async () => {
    const { theirs, ours } = await servers.ask({ tool: { url: at('/labelled/news'), max_length: 20 } });
    const frame =
      /^ok Contents of (\S+):\\n.*\\n\\n<error>Content truncated\. Call the fetch tool with a start_index of 20 to get more content\.<\/error>$/;
    expect(frame.exec(ours)?.[1]).toBe(at('/labelled/news'));
    expect(frame.exec(theirs)?.[1]).toBe(at('/labelled/news'));
  });
});

describe('what differs, and no more than is said', () => {
  const shown = differences.flatMap(({ what, proof }) => (typeof proof === 'string' ? [] : [{ what, proof }]));
  test.concurrent.for(shown)('$what', async ({ proof }) => {
    for (const { ask, theirs, ours } of proof) {
      const answers = await servers.ask(ask(servers.sites));
      expect(answers.theirs).toMatch(theirs);
      expect(answers.ours).toMatch(ours);
    }
  });
});

test('what no request can show has a test of its own', () => {
  const elsewhere = differences.flatMap(({ proof }) => (typeof proof === 'string' ? [proof] : []));
  expect(elsewhere.filter((file) => !existsSync(join(home, file)))).toEqual([]);
});

test('of pages of thirty kinds ours keeps more of what is wanted, and less of what is not', async () => {
  const rows = await Promise.all(labelledPages().map((page) => scored(page)));
  const sums = (side: 'theirs' | 'ours') =>
    rows.reduce(([kept, left], { [side]: score }) => [kept + score.kept, left + score.left] as [number, number], [0, 0] as [
      number,
      number,
    ]);
  const table = rows.map(({ name, theirs, ours }) => [
    name,
    percent(ours.kept),
    percent(ours.left),
    percent(theirs.kept),
    percent(theirs.left),
  ]);
  const [[ourKept, ourLeft], [theirKept, theirLeft]] = [sums('ours'), sums('theirs')];
  const total = [`mean of ${rows.length}`, ...[ourKept, ourLeft, theirKept, theirLeft].map((sum) => percent(sum / rows.length))];
  process.stdout.write(`${[['page', 'kept', 'left out', 'theirs', 'theirs'], ...table, total].map(columns).join('\n')}\n`);
  expect(rows.filter(({ theirs, ours }) => sumOf(ours) < sumOf(theirs)).map(({ name }) => name)).toEqual([]);
  expect(ourKept).toBeGreaterThan(theirKept);
  expect(ourLeft).toBeGreaterThan(theirLeft);
});

test(`at least ${MIN_PAGES} pages were compared`, () => {
  expect(servers.sites.pages).toBeGreaterThan(MIN_PAGES);
  expect(servers.asked).toBeGreaterThan(MIN_PAGES * 3);
});

async function scored(page: Labelled) {
  const answers = await servers.ask({ tool: { url: at(`/labelled/${page.name}`), max_length: 999_999 } });
  const score = (line: string) => scoreOf(page, JSON.parse(`"${line.replaceAll('"', '\\"')}"`) as string);
  return { name: page.name, theirs: score(answers.theirs), ours: score(answers.ours) };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function columns(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(18) : cell.padStart(9))).join('');
}
