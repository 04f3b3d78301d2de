import { expect } from 'vitest';
import { documentOf, pathOf } from '../../../mcp-servers/registry/testing.ts';
import type { TwoRegistries } from '../two-registries.ts';
import { alike } from './alike.ts';
import { words } from './words.ts';

export function reading(pair: TwoRegistries): void {
  const same = alike(pair);

  same('limits', async ({ both }) => {
    const limits = words`0 -1 101 abc 1.5 1e1 %2B5 +5 5%20 9999999999999999999 0x5 1_0 007 %20`;
    await both.get(...limits.map((limit) => `/v0/servers?search=${both.space}&limit=${limit}`));
    for (const rest of ['', '=', '=&limit=5', '=1&limit=5', '=0&include_deleted=maybe&x=y'])
      await both.get(`/v0/servers?search=${both.space}&limit${rest}`);
    await both.get('/v0/servers?limit=0&include_deleted=maybe&updated_since=x&search=a');
  });

  same('searches', async ({ both }) => {
    const searches = words`ab %F0%9F%98%80%F0%9F%98%80 +++ %25%25%25 ___ %5C%5C%5C x%2 %20ab%20 %20abc %D0%9F%D1%80%D0%B8 no%20such%20server`;
    await both.get(...['', ...searches].map((search) => `/v0/servers?version=${both.space}&search=${search}`));
  });

  same('times', async ({ both }) => {
    const times = words`2020-01-01 2999-01-01T00:00:00 2999-01-01T00:00:00Z 2999-01-01T00:00:00%2B02:00 2999-01-01T00:00:00+02:00 2999-02-30T00:00:00Z
      2999-01-01t00:00:00z 2999-01-01T24:00:00Z 2999-01-01T00:00:60Z 2999-01-01T00:00:00.123456789Z 2999-01-01T00:00:00,5Z 2999-01-01T00:00:00%2B25:00
      x 2999-01-01T00:00:00-24:60`;
    await both.get(...['', ...times].map((time) => `/v0/servers?version=${both.space}&updated_since=${time}`));
  });

  same('include_deleted, alone and beside updated_since', async ({ both }) => {
    for (const flag of ['', ...words`maybe true True tRUE 1 t F 0 false no 2`]) {
      await both.get(
        `/v0/servers?search=${both.space}&include_deleted=${flag}`,
        `/v0/servers?include_deleted=${flag}&updated_since=2999-01-01T00:00:00Z`,
        `${pathOf('no/server', '1')}?include_deleted=${flag}`,
        `${pathOf('no/server')}/versions?include_deleted=${flag}`,
      );
    }
    await both.get(`/v0/servers?search=${both.space}&include_deleted`, `/v0/servers?include_deleted&search=${both.space}`);
  });

  same('a walk over names that are prefixes of each other, with cursors of every kind', async ({ both }) => {
    const names = words`a a-y a1 aX a_x a.b ax`.map((suffix) => `${both.space}/walk.${suffix}`);
    for (const name of names) for (const version of words`1.10.0 1.9.0 1.0.0+b:c`) await both.publish(name, version);
    const walk = `/v0.1/servers?search=${both.space}/walk.`;
    for (const limit of [1, 3, 7, 21, 30]) await both.walk(`search=${both.space}/walk.&limit=${limit}`);
    const first = names[0] ?? '';
    const cursors = [first, `${first}:`, ':', '::', 'x'.repeat(5000), `${first}:1.10.0`, `${first}:1.0.0+b:c`, 'zzz', '%zz'];
    await both.get(...cursors.map((cursor) => `${walk}&cursor=${encodeURIComponent(cursor)}`), `${walk}&cursor=%zz`);
    await both.get(...words`1.9.0 latest unknown 1.0.0%2Bb:c LATEST`.map((version) => `${walk}&version=${version}`), `${walk}&version=`);
    await both.get(`/v0/servers?search=${both.space.toUpperCase()}/WALK.a`, `/v0/servers?search=${both.space.slice(3)}/walk.a`);
  });

  same('escapes and doubled escapes in paths', async ({ both }) => {
    const name = both.freshName();
    for (const version of ['1.0.0', '1.0.0+b', '1 2', '50%', 'a/b', 'a?b#c', 'é', 'a\\b', 'a\nb', '..', '.'])
      await both.publish(name, version);
    for (const prefix of ['/v0', '/v0.1']) {
      for (const slash of words`%2F %2f %252F %25252F`) await both.get(`${prefix}/servers/${name.replace('/', slash)}/versions/1.0.0`);
    }
    const escaped = words`1.0.0+b 1.0.0%2Bb 1%202 1+2 50%25 50%2525 50%252525 a%2Fb a%252Fb a%3Fb%23c %C3%A9 a%5Cb a%0Ab %2E%2E %2E nope % %z %2 %25zz %25%25`;
    await both.get(...escaped.map((version) => `${pathOf(name)}/versions/${version}`));
    await both.get('/v0/servers/%25zz/versions', '/v0/servers/x%25/versions');
  });

  same('unknown paths, wrong methods, NUL', async ({ both }) => {
    await both.get(
      ...words`/v0/servers/x /v0/x /x /v0 /v1/servers /V0/servers /v0/Servers /v0.1/publish /v0/auth/none /x%2Fy /v0/servers/a/versions/b/c/d`,
    );
    await both.get(pathOf('a/b'), `/v0/%73ervers?version=${both.space}`);
    for (const method of words`POST DELETE PUT PATCH`) await both.ask(method, '/v0/servers', { body: '{}' });
    await both.ask('DELETE', pathOf('a/b', '1.0.0'));
    await both.get(...words`/v0/servers?cursor=%00 /v0/servers/%00/versions /v0/servers/%2500/versions /x%00/ /v0/servers?x=a%00`);
  });

  same('redirects of trailing slashes and unclean paths', async ({ both }) => {
    const trailing = words`/v0/servers/ /v0/servers/a.b%2Fc/versions/ /v0/servers/? /v0/ /v0/servers/?limit=1 /x/ //evil.example/ /v0// /v0/servers//`;
    const unclean = words`/v0//servers /v0/./servers /v0/x/../servers?limit=1 //v0/servers /v0/servers/x//y /v0/servers/a.b%2Fc//versions`;
    await both.get(...trailing, ...unclean);
  });

  same('HEAD, health and ping', async ({ both }) => {
    for (const target of ['/v0/servers', pathOf('a/b', '1.0.0'), '/v0/nothing', '/v0/servers?limit=0', '/v0/health'])
      await both.ask('HEAD', target);
    await both.get(...words`/v0/health /v0.1/health /v0/ping /v0.1/ping`);
  });

  same('what a browser is allowed', async ({ both }) => {
    const asking = { 'access-control-request-headers': 'authorization,x-y', origin: 'https://a.example' };
    for (const method of words`GET POST PUT PATCH DELETE PURGE`) {
      await both.ask('OPTIONS', '/v0/servers', { headers: { ...asking, 'access-control-request-method': method } });
    }
    for (const target of ['/v0/ping', '/v0/nothing', '/v0/servers?limit=0', pathOf('a/b', '1.0.0')]) {
      for (const origin of ['null', 'https://a.example']) await both.ask('GET', target, { headers: { origin } });
    }
  });

  same('a search that only a description holds, the cursor of a deleted record', async ({ both }) => {
    const name = both.freshName();
    await both.ask('POST', '/v0/publish', { body: documentOf(name, { description: 'findable-by-this', title: 'Or-by-that' }) });
    await both.publish(`${name}x`, '1.0.0');
    await both.get('/v0/servers?search=findable-by-this', '/v0/servers?search=Or-by-that');
    await both.setStatus(name, '1.0.0', { status: 'deleted' });
    await both.get(`/v0/servers?search=${name}&cursor=${encodeURIComponent(`${name}:1.0.0`)}`);
  });

  same('the operations that the OpenAPI description names, with their parameters', async ({ both }) => {
    const { official, embedded } = await both.askWithoutComparing('GET', '/openapi.json');
    const [theirs, ours] = [operationsOf(official.body), operationsOf(embedded.body)];
    expect(ours.length).toBeGreaterThan(20);
    expect(ours).toEqual(theirs.filter((operation) => !/\/auth\/(?!none)/.test(operation)));
    const yaml = await both.askWithoutComparing('GET', '/openapi.yaml');
    for (const { status, headers, body } of [yaml.official, yaml.embedded]) {
      expect([status, headers['content-type']]).toEqual([200, 'application/openapi+yaml']);
      expect(body).toMatch(/"?version"?: "?1\.0\.0"?\n/);
      expect(body).toContain('https://github.com/modelcontextprotocol/registry');
    }
  });
}

interface OpenApi {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
}

/** Method, path, parameters and what it takes to be allowed. A parameter for the Authorization header means nothing in OpenAPI. */
function operationsOf(body: unknown): string[] {
  const { info, paths } = body as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], security = [] }]) => {
      const told = parameters.filter(({ name }) => name !== 'Authorization');
      const named = told.map((parameter) => `${parameter.in}.${parameter.name}${parameter.required === true ? '!' : ''}`);
      return [method, path, ...named.toSorted(), ...security.flatMap((scheme) => Object.keys(scheme))].join(' ');
    }),
  );
  return [`version ${info.version}`, ...operations.toSorted()];
}
