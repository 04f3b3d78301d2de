import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathOf, send, startTestRegistry, type TestRegistry } from '../testing.ts';
import { declarationOf, statusOf } from './testing.ts';

let registry: TestRegistry;
let directory: string;
let statusFile: string;
const attack = `"'><script>alert(1)</script>&\u202e`;
const escaped = '&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;\ufffd';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-pages-'));
  statusFile = join(directory, 'status.json');
  registry = await startTestRegistry({ ALLOW_LOCAL_REMOTES: 'true', STATUS_FILE: statusFile });
  const remotes = [{ type: 'streamable-http', url: `https://a.example/mcp?x='$(id)'`, headers: [{ name: attack, description: attack }] }];
  const shown = { remotes, description: attack, title: attack };
  await registry.publish('shown.b/server', '1.0.0', shown);
  await registry.publish('shown.b/server', '1.1.0-rc&x', shown);
  await registry.setStatus(pathOf('shown.b/server', '1.1.0-rc&x'), 'deprecated', attack);
  const transport = { type: 'stdio' };
  await registry.publish('package.b/only', '1.0.0', {
    description: 'Runs here',
    packages: [
      { registryType: 'npm', identifier: '@x/y', version: '3.2.1', transport, environmentVariables: [{ name: attack, isRequired: true }] },
    ],
  });
  await registry.publish('dots.b/server', '..');
  await registry.publish('gone.b/server', '1.0.0');
  await registry.setStatus(pathOf('gone.b/server'), 'deleted', 'went with its team');
});

afterAll(async () => {
  await registry.close();
  await rm(directory, { recursive: true });
});

async function page(target = '/', status = 200): Promise<string> {
  const answer = await send(registry.url, 'GET', target);
  expect(answer.status).toBe(status);
  return answer.body as string;
}

function linksOf(text: string, start: string): readonly string[] {
  return [...text.matchAll(/href="([^"]*)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&'))
    .filter((link) => link.startsWith(start));
}

test.each(['/', '/servers/shown.b/server', '/servers/none.b/such'])(
  '%s runs and shows what it carries itself, and is framed by nobody',
  async (target) => {
    const { headers, body } = await send(registry.url, 'GET', target);
    const hashOf = (tag: string) => {
      const found = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(body as string)?.[1] ?? '';
      return createHash('sha256').update(found).digest('base64');
    };
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${hashOf('style')}'; script-src 'sha256-${hashOf('script')}'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'x-content-type-options': 'nosniff',
    });
    expect(body).not.toMatch(/<link|<img|<iframe| style=| on\w+=|src=/);
    expect(linksOf(body as string, '').filter((link) => !/^[/#]/.test(link))).toEqual([]);
  },
);

test('the list has names, titles, latest versions, states and where they connect; deleted servers are shown when asked for', async () => {
  const text = await page();
  for (const shown of ['shown.b/server', '1.0.0', 'package.b/only', 'npm @x/y', 'Published', '3 servers']) expect(text).toContain(shown);
  expect(text).not.toContain('gone.b');
  const deleted = await page('/?state=deleted');
  expect(deleted).toContain('gone.b/server');
  expect(deleted).toContain('went with its team');
});

test.each([
  '/',
  '/?state=deprecated',
  '/servers/shown.b/server',
  '/servers/shown.b/server?version=1.1.0-rc%26x',
  '/servers/package.b/only',
])('nothing that a record says becomes markup: %s', async (target) => {
  const text = await page(target);
  expect(text.split('<script').length - 1).toBe(1);
  expect(text).not.toContain('\u202e');
  expect(text).toContain(target === '/?state=deprecated' ? 'No server fits' : escaped);
});

test('nothing that a visitor asks for becomes markup', async () => {
  const asked = encodeURIComponent(attack);
  for (const [target, status] of [
    [`/?search=${asked}&state=${asked}`, 200],
    [`/servers/a.b/${asked.replaceAll('%2F', '')}`, 404],
    [`/servers/shown.b/server?version=${asked}`, 404],
  ] as const) {
    const text = await page(target, status);
    expect(text.split('<script').length - 1).toBe(1);
    expect(text).toMatch(/&lt;|No such server/);
  }
});

test('an address cannot break out of the command it is shown in', async () => {
  const text = await page('/servers/shown.b/server');
  const command = /claude mcp add --transport http server ([^\n]*)<\/pre\s*>/.exec(text)?.[1]?.replaceAll('&#39;', "'");
  expect(command).toBe(String.raw`'https://a.example/mcp?x='\''$(id)'\'''`);
});

test('an address shows what it is: nothing in it is invisible, drawn elsewhere or too long to be read', async () => {
  const deceiving = { type: 'sse', url: 'https://good.example/\u202epcm/live.moc\u200b b' };
  const endless = { type: 'sse', url: `https://good.example/${'x'.repeat(1000)}` };
  await registry.publish('show.b/server', '1.0.0', { remotes: [deceiving, endless, ...Array.from({ length: 20 }, () => deceiving)] });
  for (const target of ['/?search=show.b', '/servers/show.b/server']) {
    const text = await page(target);
    expect(text).toContain('https://good.example/%E2%80%AEpcm/live.moc%E2%80%8B%20b');
    expect(text).not.toMatch(/\u202e|\u200b|xxxx/);
  }
  const text = await page('/servers/show.b/server');
  expect(text.split('claude mcp add').length - 1).toBe(9);
  expect(text).toContain('12 more ways in the record');
});

test('every link to a version, in the pages and in the API, leads to it', async () => {
  for (const name of ['shown.b/server', 'dots.b/server', 'gone.b/server', 'package.b/only']) {
    const text = await page(`/servers/${name}`);
    const links = [...linksOf(text, '/servers/'), ...linksOf(text, '/v0.1/servers/')];
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) {
      const { pathname, search } = new URL(link, registry.url);
      expect((await send(registry.url, 'GET', pathname + search)).status).toBe(200);
    }
  }
  expect(await page('/servers/shown.b/server?version=1.1.0-rc%26x')).toContain('1.1.0-rc&amp;x');
});

test('a name is found with its slash escaped too; what is not there is said on a page with a way back', async () => {
  expect(await page('/servers/package.b%2Fonly')).toContain('npx -y @x/y@3.2.1');
  expect(linksOf(await page('/servers/none.b/such', 404), '/')).toContain('/');
  expect(linksOf(await page('/servers/package.b/only?version=9', 404), '/')).toContain('/servers/package.b/only');
  const { headers } = await send(registry.url, 'GET', '/servers');
  expect(headers['content-type']).toBe('application/problem+json');
});

test('HEAD is answered as GET is, without the text', async () => {
  for (const target of ['/', '/servers/package.b/only', '/servers/none.b/such']) {
    const [get, head] = [await send(registry.url, 'GET', target), await send(registry.url, 'HEAD', target)];
    const { date: _, ...headers } = get.headers;
    expect([head.status, head.body]).toEqual([get.status, '']);
    expect(head.headers).toMatchObject(headers);
  }
});

test('a page follows each commit', async () => {
  expect(await page('/?search=later.b')).toContain('No server fits');
  await registry.publish('later.b/server', '1.0.0', { title: 'First title' });
  expect(await page('/?search=later.b')).toContain('First title');
  await registry.publish('later.b/server', '2.0.0', { title: 'Second title' });
  const text = await page('/?search=later.b');
  expect(text).toContain('Second title');
  expect(text).not.toContain('First title');
  await registry.setStatus(pathOf('later.b/server', '2.0.0'), 'deleted');
  expect(await page('/?search=later.b')).toContain('First title');
});

test('long lists come in pages, and a search narrows them', async () => {
  for (let index = 100; index < 160; index += 1) await registry.publish(`many.b/n${index}`, '1.0.0');
  const first = await page('/?search=many.b');
  const next = linksOf(first, '/?').find((link) => link.includes('page=2')) ?? '';
  const second = await page(next);
  const found = linksOf(`${first}${second}`, '/servers/many.b/');
  expect([found.length, new Set(found).size]).toEqual([60, 60]);
  expect(second).not.toContain('rel="next"');
  expect(await page('/?search=nothing-of-it')).toContain('No server fits');
});

test('with the operator’s status, tools and what is not published are shown, with the reason', async () => {
  const faults = [{ path: 'vesion', message: attack }];
  await writeFile(
    statusFile,
    statusOf(
      declarationOf('package.b/only', 'Published', { tools: { count: 3, names: ['alerts', attack] } }),
      declarationOf('shown.b/server', 'Refused', { version: 'latest', why: attack, faults }),
      declarationOf('waits.b/server', 'Pending', { why: 'nothing listens at its address' }),
      declarationOf('', 'Refused', { source: 'gone.b/server', version: '', why: 'no JSON', faults }),
      declarationOf('absent.b/server', 'Published'),
    ),
  );
  await expect.poll(() => page('/?state=pending'), { timeout: 5_000 }).toContain('waits.b/server');
  expect(await page('/?state=pending')).toContain('nothing listens at its address');
  const refused = await page('/?state=refused');
  expect(refused).toContain('2 servers in state Refused');
  expect(refused).toContain(`vesion: ${escaped}`);
  expect(await page('/?search=alerts')).toContain('package.b/only');
  expect(await page('/?search=absent.b')).toContain('No server fits');
  const record = await page('/servers/package.b/only');
  for (const shown of ['3 tools', '<code>alerts</code>', '1 more']) expect(record).toContain(shown);
  expect(await page('/servers/waits.b/server')).toContain('catalog/server/server.json');
  // a source that reads like a name is not that name
  expect(await page('/servers/gone.b/server')).not.toContain('no JSON');
});

test('without records and status the page says what to do', async () => {
  const empty = await startTestRegistry();
  try {
    expect((await send(empty.url, 'GET', '/')).body).toContain('drop a <code>server.json</code> into <code>catalog/');
  } finally {
    await empty.close();
  }
});
