import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathOf, send, startTestRegistry, type TestRegistry } from '../testing.ts';

let registry: TestRegistry;
const attack = `"'><script>alert(1)</script>&`;

beforeAll(async () => {
  registry = await startTestRegistry({ ALLOW_LOCAL_REMOTES: 'true' });
  const remotes = [{ type: 'streamable-http', url: `https://a.example/mcp?x='$(id)'` }];
  await registry.publish('shown.b/server', '1.0.0', { remotes, description: attack, title: attack });
  await registry.publish('shown.b/server', '1.1.0-rc&x', { remotes, description: attack, title: attack });
  await registry.setStatus(pathOf('shown.b/server', '1.1.0-rc&x'), 'deprecated', attack);
  await registry.publish('package.b/only', '1.0.0', {
    packages: [{ registryType: 'npm', identifier: '@x/y', version: '3.2.1', transport: { type: 'stdio' } }],
  });
  await registry.publish('dots.b/server', '..');
  await registry.publish('gone.b/server', '1.0.0');
  await registry.setStatus(pathOf('gone.b/server'), 'deleted');
});

afterAll(() => registry.close());

async function page(query = ''): Promise<string> {
  const { status, body } = await send(registry.url, 'GET', `/${query}`);
  expect(status).toBe(200);
  return body as string;
}

test('it may run nothing, load nothing and be framed by nobody; its own style is all that is allowed', async () => {
  const { headers, body } = await send(registry.url, 'GET', '/');
  const style = /<style>(.*?)<\/style>/s.exec(body as string)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
  });
  expect(body).not.toMatch(/<script|<link|<img|style=|https?:\/\/(?!a\.example)/);
});

test('names, versions, states and ways to connect are shown; deleted servers are not', async () => {
  const text = await page();
  for (const shown of ['shown.b/server', '1.0.0', '1.1.0-rc&amp;x', 'deprecated', 'package.b/only', '@x/y@3.2.1'])
    expect(text).toContain(shown);
  expect(text).toContain('claude mcp add --transport http server ');
  expect(text).not.toContain('gone.b');
});

test('nothing that a record says becomes markup', async () => {
  const text = await page();
  expect(text).not.toContain('<script');
  expect(text).toContain('&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;');
  expect(await page(`?search=${encodeURIComponent(attack)}`)).toContain('value="&quot;&#39;&gt;&lt;script');
});

test('an address cannot break out of the command it is shown in', async () => {
  const command = /claude mcp add --transport http server ([^\n]*)<\/pre>/.exec(await page())?.[1]?.replaceAll('&#39;', "'");
  expect(command).toBe(String.raw`'https://a.example/mcp?x='\''$(id)'\'''`);
});

test('an address shows what it is: nothing in it is invisible, drawn elsewhere or too long to be read', async () => {
  const deceiving = { type: 'sse', url: 'https://good.example/\u202epcm/live.moc\u200b b' };
  const endless = { type: 'sse', url: `https://good.example/${'x'.repeat(1000)}` };
  await registry.publish('show.b/server', '1.0.0', { remotes: [endless, deceiving, ...Array.from({ length: 20 }, () => deceiving)] });
  const text = await page('?search=show.b');
  expect(text).toContain('https://good.example/%E2%80%AEpcm/live.moc%E2%80%8B%20b');
  expect(text).not.toMatch(/\u202e|\u200b|xxxx/);
  expect(text.split('claude mcp add').length - 1).toBe(10);
  expect(text).toContain('12 more in the record');
});

test('every link to a version leads to it', async () => {
  const links = [...(await page()).matchAll(/href="(\/v0\.1\/servers\/[^"]*include_deleted=true)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) {
    const { pathname, search } = new URL(link, registry.url);
    expect((await send(registry.url, 'GET', pathname + search)).status).toBe(200);
  }
});

test('long catalogues come in pages, and a search narrows them', async () => {
  for (let index = 100; index < 160; index += 1) await registry.publish(`many.b/n${index}`, '1.0.0');
  const first = await page('?search=many.b');
  const next = /<a href="([^"]*)" rel="next">/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const second = await page(next.slice(1));
  const found = [...`${first}${second}`.matchAll(/<bdi>(many\.b\/n\d+)<\/bdi>/g)].map(([, name]) => name);
  expect(new Set(found).size).toBe(60);
  expect(found.length).toBe(60);
  expect(second).not.toContain('rel="next"');
  expect(await page('?search=nothing-of-it')).toContain('No name holds this.');
});
