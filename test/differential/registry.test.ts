import { connect } from 'node:net';
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PUBLISHER_META, SCHEMA_URL } from '../../lib/registry-api/server-json.ts';
import { ed25519Key, seedTokenSource, type Permission } from '../../lib/registry-api/token.ts';
import { validateServerJson } from '../../lib/registry-api/validate.ts';
import { samples, versions } from './documents.ts';
import { documentOf, pathOf, send } from '../../mcp-servers/registry/testing.ts';
import { TwoRegistries } from './two-registries.ts';

let both: TwoRegistries;

beforeAll(async () => {
  both = await TwoRegistries.start();
});

afterEach(() => both.differences.splice(0));
afterAll(() => both.close());

/** Words of a template, so that long lists stay readable. */
function words(text: TemplateStringsArray): string[] {
  return (text.raw[0] ?? '').split(/\s+/);
}

describe('reading', () => {
  test('limits', async () => {
    const limits = words`0 -1 101 abc 1.5 1e1 %2B5 +5 5%20 9999999999999999999 0x5 1_0 007 %20`;
    await both.get(...limits.map((limit) => `/v0/servers?search=${both.space}&limit=${limit}`));
    for (const rest of ['', '=', '=&limit=5', '=1&limit=5', '=0&include_deleted=maybe&x=y'])
      await both.get(`/v0/servers?search=${both.space}&limit${rest}`);
    await both.get('/v0/servers?limit=0&include_deleted=maybe&updated_since=x&search=a');
    expect(both.differences).toEqual([]);
  });

  test('searches', async () => {
    const searches = words`ab %F0%9F%98%80%F0%9F%98%80 +++ %25%25%25 ___ %5C%5C%5C x%2 %20ab%20 %20abc %D0%9F%D1%80%D0%B8 no%20such%20server`;
    await both.get(...['', ...searches].map((search) => `/v0/servers?version=${both.space}&search=${search}`));
    expect(both.differences).toEqual([]);
  });

  test('times', async () => {
    const times = words`2020-01-01 2999-01-01T00:00:00 2999-01-01T00:00:00Z 2999-01-01T00:00:00%2B02:00 2999-01-01T00:00:00+02:00 2999-02-30T00:00:00Z
      2999-01-01t00:00:00z 2999-01-01T24:00:00Z 2999-01-01T00:00:60Z 2999-01-01T00:00:00.123456789Z 2999-01-01T00:00:00,5Z 2999-01-01T00:00:00%2B25:00
      x 2999-01-01T00:00:00-24:60`;
    await both.get(...['', ...times].map((time) => `/v0/servers?version=${both.space}&updated_since=${time}`));
    expect(both.differences).toEqual([]);
  });

  test('include_deleted, alone and beside updated_since', async () => {
    for (const flag of ['', ...words`maybe true True tRUE 1 t F 0 false no 2`]) {
      await both.get(
        `/v0/servers?search=${both.space}&include_deleted=${flag}`,
        `/v0/servers?include_deleted=${flag}&updated_since=2999-01-01T00:00:00Z`,
        `${pathOf('no/server', '1')}?include_deleted=${flag}`,
        `${pathOf('no/server')}/versions?include_deleted=${flag}`,
      );
    }
    await both.get(`/v0/servers?search=${both.space}&include_deleted`, `/v0/servers?include_deleted&search=${both.space}`);
    expect(both.differences).toEqual([]);
  });

  test('a walk over names that are prefixes of each other, with cursors of every kind', async () => {
    const names = words`a a-y a1 aX a_x a.b ax`.map((suffix) => `${both.space}/walk.${suffix}`);
    for (const name of names) for (const version of words`1.10.0 1.9.0 1.0.0+b:c`) await both.publish(name, version);
    const walk = `/v0.1/servers?search=${both.space}/walk.`;
    for (const limit of [1, 3, 7, 21, 30]) {
      let cursor: string | undefined = '';
      for (let pages = 0; cursor !== undefined && pages < 30; pages += 1) {
        const { embedded } = await both.ask('GET', `${walk}&limit=${limit}&cursor=${encodeURIComponent(cursor)}`);
        cursor = nextCursorOf(embedded.body);
      }
    }
    const first = names[0] ?? '';
    const cursors = [first, `${first}:`, ':', '::', 'x'.repeat(5000), `${first}:1.10.0`, `${first}:1.0.0+b:c`, 'zzz', '%zz'];
    await both.get(...cursors.map((cursor) => `${walk}&cursor=${encodeURIComponent(cursor)}`), `${walk}&cursor=%zz`);
    await both.get(...words`1.9.0 latest unknown 1.0.0%2Bb:c LATEST`.map((version) => `${walk}&version=${version}`), `${walk}&version=`);
    await both.get(`/v0/servers?search=${both.space.toUpperCase()}/WALK.a`, `/v0/servers?search=${both.space.slice(3)}/walk.a`);
    expect(both.differences).toEqual([]);
  });

  test('escapes and doubled escapes in paths', async () => {
    const name = both.freshName();
    for (const version of ['1.0.0', '1.0.0+b', '1 2', '50%', 'a/b', 'a?b#c', 'é', 'a\\b', 'a\nb', '..', '.'])
      await both.publish(name, version);
    for (const prefix of ['/v0', '/v0.1']) {
      for (const slash of words`%2F %2f %252F %25252F`) await both.get(`${prefix}/servers/${name.replace('/', slash)}/versions/1.0.0`);
    }
    const escaped = words`1.0.0+b 1.0.0%2Bb 1%202 1+2 50%25 50%2525 50%252525 a%2Fb a%252Fb a%3Fb%23c %C3%A9 a%5Cb a%0Ab %2E%2E %2E nope % %z %2 %25zz %25%25`;
    await both.get(...escaped.map((version) => `${pathOf(name)}/versions/${version}`));
    await both.get('/v0/servers/%25zz/versions', '/v0/servers/x%25/versions');
    expect(both.differences).toEqual([]);
  });

  test('unknown paths, wrong methods, NUL', async () => {
    await both.get(
      ...words`/v0/servers/x /v0/x /x /v0 /v1/servers /V0/servers /v0/Servers /v0.1/publish /v0/auth/none /x%2Fy /v0/servers/a/versions/b/c/d`,
    );
    await both.get(pathOf('a/b'), `/v0/%73ervers?version=${both.space}`);
    for (const method of words`POST DELETE PUT PATCH`) await both.ask(method, '/v0/servers', { body: '{}' });
    await both.ask('DELETE', pathOf('a/b', '1.0.0'));
    await both.get(...words`/v0/servers?cursor=%00 /v0/servers/%00/versions /v0/servers/%2500/versions /x%00/ /v0/servers?x=a%00`);
    expect(both.differences).toEqual([]);
  });

  test('redirects of trailing slashes and unclean paths', async () => {
    const trailing = words`/v0/servers/ /v0/ /v0/servers/?limit=1 /x/ //evil.example/ /v0// /v0/servers//`;
    const unclean = words`/v0//servers /v0/./servers /v0/x/../servers?limit=1 //v0/servers /v0/servers/x//y`;
    for (const target of [...trailing, ...unclean]) {
      const { official, embedded } = await both.ask('GET', target);
      expect(embedded.headers.location).toBe(official.headers.location);
    }
    expect(both.differences).toEqual([]);
  });

  test('HEAD, health and ping', async () => {
    for (const target of ['/v0/servers', pathOf('a/b', '1.0.0'), '/v0/nothing', '/v0/servers?limit=0', '/v0/health'])
      await both.ask('HEAD', target);
    await both.get(...words`/v0/health /v0.1/health /v0/ping /v0.1/ping`);
    expect(both.differences).toEqual([]);
  });

  test('what a browser is allowed', async () => {
    const preflight = {
      origin: 'https://a.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization,x-y',
    };
    const asked = await both.ask('OPTIONS', '/v0/servers', { headers: preflight });
    const read = await both.ask('GET', '/v0/ping', { headers: { origin: 'null' } });
    for (const name of ['allow-origin', 'allow-headers', 'max-age']) {
      expect(asked.embedded.headers[`access-control-${name}`]).toBe(asked.official.headers[`access-control-${name}`]);
    }
    for (const name of ['allow-origin', 'expose-headers']) {
      expect(read.embedded.headers[`access-control-${name}`]).toBe(read.official.headers[`access-control-${name}`]);
    }
    expect(both.differences).toEqual([]);
  });

  test('openapi.yaml carries what clients look for', async () => {
    for (const url of [both.officialUrl, both.embeddedUrl]) {
      const { status, headers, body } = await send(url, 'GET', '/openapi.yaml', {});
      expect([status, headers['content-type']]).toEqual([200, 'application/openapi+yaml']);
      expect(body).toMatch(/"?version"?: "?1\.0\.0"?\n/);
      expect(body).toContain('https://github.com/modelcontextprotocol/registry');
    }
  });
});

describe('publishing', () => {
  test('every sample document, published and validated', { timeout: 600_000 }, async () => {
    for (const { text } of samples((index) => `${both.space}/sample-${index}`)) {
      // Other names were taken from the official registry by the runs before.
      if (text.includes(both.space) || !isPublishable(text)) await both.ask('POST', '/v0.1/publish', { body: text });
      // The JSON Schema's own reader of URIs knows no zones.
      if (!text.includes('[fe80::1%25eth0]')) await both.ask('POST', '/v0/validate', { body: text });
    }
    let cursor: string | undefined = '';
    while (cursor !== undefined) {
      const { embedded } = await both.ask('GET', `/v0/servers?search=${both.space}/sample-&limit=100&cursor=${encodeURIComponent(cursor)}`);
      cursor = nextCursorOf(embedded.body);
    }
    expect(both.differences).toEqual([]);
  });

  test('every sample document as an edit', { timeout: 600_000 }, async () => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    for (const { text } of samples(() => name)) await both.ask('PUT', pathOf(name, '1.0.0'), { body: text });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('the form of the Authorization header, before and after the body', async () => {
    const headers = ['', 'x', 'Bearer', 'Bearer ', 'Bearer x', 'Token x', 'Basic eDp5', 'Bearer a.b.c', 'Bearer  x', 'bearer'];
    for (const authorization of headers) {
      for (const body of [documentOf(both.freshName()), '{}'])
        await both.ask('POST', '/v0/publish', { body, token: null, headers: { authorization } });
    }
    for (const body of [documentOf(both.freshName()), '{}', '{', '']) await both.ask('POST', '/v0/publish', { body, token: null });
    const authorization = `bEaReR ${await permitting({ action: 'publish', resource: '*' })}`;
    await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), token: null, headers: { authorization } });
    expect(both.differences).toEqual([]);
  });

  test('tokens: signature, times and what is not looked at', async () => {
    const soon = Math.floor(Date.now() / 1000) + 60;
    const unsigned = [{ alg: 'none' }, { exp: soon, permissions: everything }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const tokens = [
      await signed({ exp: soon }),
      await signed({ exp: soon - 61 }),
      await signed({ exp: soon - 3600 }),
      await signed({}),
      await signed({ exp: soon, nbf: soon - 20 }),
      await signed({ exp: soon, nbf: soon - 90, iat: soon + 600, iss: 'x', aud: ['y'], sub: 'z' }),
      await signed({ exp: soon + 365 * 86_400 }),
      await signed({ exp: soon }, { key: 'b'.repeat(64) }),
      await signed({ exp: soon }, { alg: 'HS256' }),
      `${unsigned.join('.')}.`,
      await signed({ exp: soon, permissions: null }),
      await signed({ exp: soon, permissions: [] }),
      await signed({ exp: soon, permissions: 'x' }),
      await signed({ exp: soon, permissions: [{ action: 'publish' }] }),
      await signed({ exp: soon, permissions: [{ resource: '*' }] }),
      await signed({ exp: soon + 0.5 }),
    ];
    for (const token of tokens) await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), token });
    expect(both.differences).toEqual([]);
  });

  test('the anonymous token', async () => {
    const { official, embedded } = await both.ask('POST', '/v0/auth/none');
    const claims = [official, embedded].map(({ body }) => decodeJwt((body as { registry_token: string }).registry_token));
    const [theirs, ours] = claims.map(({ iat = 0, exp = 0, nbf = 0, permissions, iss, auth_method: method }) => {
      return { lives: exp - iat, from: nbf - iat, permissions, iss, method };
    });
    expect(ours).toEqual(theirs);
    expect(both.differences).toEqual([]);
  });

  test('permissions: what they cover, and where in the order they are checked', async () => {
    const name = both.freshName();
    const resources = [
      '*',
      `${both.space}/*`,
      `${both.space}/n*`,
      name,
      name.toUpperCase(),
      `${both.space}*`,
      `${both.space}.x/*`,
      '',
      'x*',
    ];
    for (const [index, resource] of resources.entries()) {
      const token = await permitting({ action: 'publish', resource });
      await both.ask('POST', '/v0/publish', { body: documentOf(name, { version: `1.0.${index}` }), token });
    }
    const tokens = [
      await permitting({ action: 'publish', resource: '*' }),
      await permitting({ action: 'edit', resource: '*' }),
      await permitting({ action: 'publish', resource: 'other/*' }, { action: 'publish', resource: 'more/x' }),
    ];
    for (const token of tokens) {
      for (const body of [documentOf(both.freshName()), documentOf('a/b')]) await both.ask('POST', '/v0/publish', { body, token });
      await both.ask('PUT', pathOf(name, '1.0.0'), { body: documentOf(name), token });
      await both.ask('PUT', pathOf(name, '9.9.9'), { body: documentOf(name), token });
      await both.ask('PUT', pathOf(name, '1.0.0'), { body: documentOf('a/b', { version: 'latest' }), token });
      const body = '{"status":"deprecated","statusMessage":"m"}';
      for (const target of [pathOf(name, '1.0.0'), pathOf(name, '9.9.9'), pathOf(name), pathOf('no/such')]) {
        await both.ask('PATCH', `${target}/status`, { body, token });
      }
    }
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('sizes of bodies', async () => {
    for (const bytes of [1_048_575, 1_048_576, 1_048_577, 3_000_000]) {
      await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()).padEnd(bytes) });
    }
    expect(both.differences).toEqual([]);
  });

  test('bodies that are no JSON, or no object', async () => {
    const bodies = [
      '',
      '{',
      '[]',
      'null',
      '"x"',
      '1',
      '\uFEFF{}',
      '{} x',
      '{}{}',
      "{'a':1}",
      '{"a":01}',
      '{"a":1e999}',
      '{"a":NaN}',
      '{"a":"\t"}',
    ];
    for (const body of [...bodies, '{"a":1,}', '[', '{"a":"\\x"}', ' ', '\n{}\n', '-']) {
      await both.ask('POST', '/v0/publish', { body });
      await both.ask('PATCH', `${pathOf('no/such')}/status`, { body });
      await both.ask('POST', '/v0/validate', { body });
    }
    const start = Buffer.from(documentOf(both.freshName()).replace(/\}$/, ',"title":"a'));
    await both.ask('POST', '/v0/publish', { body: Buffer.concat([start, Buffer.from([0xff, 0xc3]), Buffer.from('"}')]) });
    expect(both.differences).toEqual([]);
  });

  test('types of bodies', async () => {
    const types = words`application/json APPLICATION/JSON application/json;charset=utf-16 application/json; application/problem+json text/x+json json
      text/plain */* application/x-www-form-urlencoded application/yaml application/cbor a/b;c=d+json a+b/c+json + ;`;
    for (const type of ['', 'application/json ', 'application/json ; a=b', 'application/json; a=b', ...types]) {
      await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), headers: { 'content-type': type } });
    }
    await both.ask('POST', '/v0/publish', {
      body: documentOf(both.freshName()),
      headers: { 'content-encoding': 'gzip', accept: 'text/html' },
    });
    expect(both.differences).toEqual([]);
  });

  test('a body that does not arrive in 5 s', { timeout: 20_000 }, async () => {
    const token = await permitting({ action: 'publish', resource: '*' });
    const [theirs, ours] = await Promise.all([sendHalf(both.officialUrl, token), sendHalf(both.embeddedUrl, token)]);
    expect(ours).toEqual(theirs);
  });

  test('duplicates in every state, shared remotes', async () => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    await both.publish(name, '1.0.0');
    for (const status of ['deprecated', 'deleted']) {
      await both.setStatus(name, '1.0.0', { status });
      await both.publish(name, '1.0.0');
    }
    const remote = { type: 'sse', url: 'https://a.example/mcp' };
    for (const remotes of [[remote], [remote, remote]])
      await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName(), { remotes }) });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('what cannot be stored, and in which order that is said', async () => {
    const name = both.freshName();
    const post = (changes: Readonly<Record<string, unknown>>) => both.ask('POST', '/v0/publish', { body: documentOf(name, changes) });
    for (const version of ['   ', '\t', '\u00a0', '1\u0000']) await post({ version });
    const big = { [PUBLISHER_META]: { a: 'x'.repeat(5000) } };
    await post({ version: '2.0.0', description: 'a\u0000b' });
    await post({ version: '2.0.1', description: '\u202Eabc\u200B', title: '\uD800' });
    await post({ version: '2.0.2', _meta: big });
    await post({ version: 'latest', _meta: big });
    await post({ version: '2.0.1', _meta: big, description: 'a\u0000b' });
    await both.ask('PUT', pathOf(name, '2.0.1'), { body: documentOf(name, { version: '2.0.1', _meta: big }) });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });
});

describe('the life of a record', () => {
  test('every transition of the status, with and without message', async () => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    const messages = [
      undefined,
      null,
      'why',
      '',
      'why',
      'x'.repeat(500),
      'x'.repeat(501),
      '\u{1F600}'.repeat(500),
      5,
      '\uD800',
      'a\u0000b',
    ];
    for (const status of ['deprecated', 'deleted', 'active', 'deleted', 'deprecated', 'active', 'nothing', '', 'Active']) {
      for (const statusMessage of messages) await both.setStatus(name, '1.0.0', { status, statusMessage });
    }
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('bodies and paths of a status change', async () => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    const bodies = words`{} {"Status":"deprecated"} {"status":"deprecated","STATUSMESSAGE":"case"} {"status":"deleted","x":1,"y":2} {"status":null}
      {"status":5} [] {"status":"active","Status":"deleted"} {"statusMessage":"x"} {"status":"deprecated","status_message":"x"}`;
    for (const body of bodies) await both.ask('PATCH', `${pathOf(name, '1.0.0')}/status`, { body });
    const body = '{"status":"deleted"}';
    await both.ask('PATCH', `${pathOf(name, 'latest')}/status`, { body });
    await both.ask('PATCH', `${pathOf(name)}/versions/50%25/status`, { body });
    await both.ask('PATCH', `${pathOf(name)}/versions/50%25/status`, { body, token: 'x' });
    await both.ask('PATCH', `${pathOf(name)}/versions/1.0.0/status`, { body, token: null });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('which version is latest, through publications, deletions and restorations', async () => {
    const name = both.freshName();
    for (const version of words`1.0.0 2.0.0 1.9.1 2.0.0-rc.1 snapshot 2.0.0+b`) await both.publish(name, version);
    for (const version of words`2.0.0 2.0.0+b 1.9.1 2.0.0-rc.1`) {
      await both.readAll(name);
      await both.setStatus(name, version, { status: 'deleted' });
    }
    await both.setStatus(name, '1.0.0', { status: 'deprecated', statusMessage: 'old' });
    await both.readAll(name);
    for (const version of ['1.0.0', 'snapshot']) await both.setStatus(name, version, { status: 'deleted' });
    await both.readAll(name);
    // All are deleted: a lower one published now is not the latest, until any status of the name changes.
    await both.publish(name, '1.5.0');
    await both.readAll(name);
    await both.ask('PUT', pathOf(name, '1.5.0'), { body: documentOf(name, { version: '1.5.0', title: 'Edited' }) });
    await both.readAll(name);
    await both.setStatus(name, 'snapshot', { status: 'deleted', statusMessage: 'another message' });
    await both.readAll(name);
    for (const version of ['2.0.0+b', '2.0.0']) await both.setStatus(name, version, { status: 'active' });
    await both.publish(name, '3.0.0');
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('every version string, one after the other, under one name', async () => {
    const name = both.freshName();
    for (const version of versions) await both.publish(name, version);
    await both.readAll(name);
    await both.setStatus(name, '1.0.0.0', { status: 'deprecated' });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('versions that are no semantic ones', async () => {
    const name = both.freshName();
    for (const version of words`b a c 1 1.0 v1`) await both.publish(name, version);
    await both.readAll(name);
    await both.setStatus(name, 'v1', { status: 'deleted' });
    await both.readAll(name);
    await both.setStatus(name, 'a', { status: 'deprecated' });
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('the status of all versions at once', async () => {
    const name = both.freshName();
    const all = (wish: Readonly<Record<string, unknown>>) => both.ask('PATCH', `${pathOf(name)}/status`, { body: JSON.stringify(wish) });
    await all({ status: 'deleted' });
    for (const version of words`1.0.0 2.0.0 3.0.0`) await both.publish(name, version);
    await both.setStatus(name, '2.0.0', { status: 'deprecated', statusMessage: 'm' });
    const twice = { status: 'deprecated', statusMessage: 'm' };
    const wishes = [
      twice,
      twice,
      { status: 'active', statusMessage: 'm' },
      { status: 'active' },
      { status: 'active' },
      { status: 'deleted', statusMessage: '' },
    ];
    for (const wish of [
      ...wishes,
      { status: 'deleted' },
      { status: 'active' },
      { status: 'deleted', statusMessage: 'a\u0000b' },
      { status: 'x' },
    ]) {
      await all(wish);
      await both.readAll(name);
    }
    expect(both.differences).toEqual([]);
  });

  test('edits: renaming, other versions, deleted records, what stays', async () => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    await both.publish(name, '2.0.0');
    const put = (version: string, body: string) => both.ask('PUT', pathOf(name, version), { body });
    await put('1.0.0', documentOf(name, { title: 'A title' }));
    await put('1.0.0', documentOf(name, { title: 'A title' }));
    await put('1.0.0', documentOf(`${name}x`));
    await put('1.0.0', documentOf(name, { version: '2.0.0' }));
    await put('1.0.0', documentOf('a/b', { version: 'latest' }));
    await put('1.0.0', documentOf(name, { websiteUrl: 'http://a.example' }));
    await put('latest', documentOf(name));
    await put('9.9.9', documentOf(name));
    await put('1.0.0', documentOf(name, { description: 'a\u0000b' }));
    await both.ask('PUT', `${pathOf(name, '1.0.0')}?status=deleted`, { body: documentOf(name) });
    await both.ask('PUT', `${pathOf(name)}/versions/50%25`, { body: documentOf(name) });
    await both.setStatus(name, '1.0.0', { status: 'deprecated', statusMessage: 'old' });
    await put('1.0.0', documentOf(name, { title: 'Another' }));
    await both.setStatus(name, '1.0.0', { status: 'deleted' });
    await put('1.0.0', documentOf(name));
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });

  test('the stored form: empties, nulls, flags, numbers', async () => {
    const name = both.freshName();
    const packages = `[{"registryType":"npm","identifier":"x","transport":{"type":"stdio","url":"","headers":[]},"version":"1.0.0","runtimeHint":"",
      "packageArguments":[{"type":"named","name":"--a","value":"","isRepeated":false,"isRequired":true,"choices":[]},{"type":"positional","valueHint":"","default":""}],
      "environmentVariables":[{"name":"A","isSecret":false,"format":null,"variables":{}}]}]`;
    const provided = '{"big":9007199254740993,"one":1.0,"e":1e21,"small":1e-7,"null":null,"empty":"","false":false,"nested":{"z":[1.50]}}';
    const body = `{"$schema":"${SCHEMA_URL}","NAME":"${name}","description":"d","version":"1.0.0","title":null,"icons":[],"repository":null,
      "packages":${packages},"_meta":{"${PUBLISHER_META}":${provided}}}`;
    const { embedded } = await both.ask('POST', '/v0/publish', { body });
    expect(embedded.status).toBe(200);
    await both.readAll(name);
    expect(both.differences).toEqual([]);
  });
});

const everything: readonly Permission[] = [
  { action: 'publish', resource: '*' },
  { action: 'edit', resource: '*' },
];

async function signed(claims: Readonly<Record<string, unknown>>, { key = both.seed, alg = 'EdDSA' } = {}): Promise<string> {
  const jwt = new SignJWT({ permissions: everything, ...claims }).setProtectedHeader({ alg });
  return jwt.sign(alg === 'EdDSA' ? ed25519Key(key) : Buffer.from(key, 'hex'));
}

function permitting(...permissions: Permission[]): Promise<string> {
  return seedTokenSource({ readSeed: async () => both.seed, permissions }).token();
}

function isPublishable(text: string): boolean {
  return validateServerJson(JSON.parse(text)).length === 0;
}

function nextCursorOf(body: unknown): string | undefined {
  return (body as { metadata: { nextCursor?: string } }).metadata.nextCursor;
}

/** Announces a body, sends its beginning, and gives the answer that comes when the server has waited enough. */
function sendHalf(base: string, token: string): Promise<{ statusLine: string; body: unknown }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const socket = connect(Number(port), hostname);
    socket.write(`POST /v0/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{"a":`);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('close', () => resolve({ statusLine: text.slice(0, text.indexOf('\r\n')), body: JSON.parse(text.slice(text.indexOf('{'))) }));
    socket.on('error', reject);
  });
}
