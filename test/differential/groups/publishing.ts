import { connect } from 'node:net';
import { decodeJwt } from 'jose';
import { expect } from 'vitest';
import { PUBLISHER_META } from '../../../lib/registry-api/server-json.ts';
import { validateServerJson } from '../../../lib/registry-api/validate.ts';
import { documentOf, pathOf } from '../../../mcp-servers/registry/testing.ts';
import { samples } from '../documents.ts';
import { everything, type TwoRegistries } from '../two-registries.ts';
import { alike } from './alike.ts';
import { words } from './words.ts';

export function publishing(pair: TwoRegistries): void {
  const same = alike(pair);

  same('every sample document, published and validated', async ({ both }) => {
    for (const { text } of samples((index) => `${both.space}/sample-${index}`)) {
      // Other names were taken from the official registry by the runs before.
      if (text.includes(both.space) || !isPublishable(text)) await both.ask('POST', '/v0.1/publish', { body: text });
      // The JSON Schema's own reader of URIs knows no zones.
      if (!text.includes('[fe80::1%25eth0]')) await both.ask('POST', '/v0/validate', { body: text });
    }
    await both.walk(`search=${both.space}/sample-&limit=100`);
  });

  same('faults in many entries of a map, and a template without its variables', async ({ both }) => {
    const entries = (value: unknown) => Object.fromEntries(words`a b c d e f g`.map((name) => [name, value]));
    const remote = { type: 'sse', url: 'https://a.example/{x}' };
    for (const variables of [entries({ isRequired: 'yes' }), entries({})]) {
      const body = documentOf(both.freshName(), { remotes: [{ ...remote, variables }] });
      for (const path of ['/v0/publish', '/v0/validate']) await both.ask('POST', path, { body });
    }
  });

  same('every sample document as an edit', async ({ both }) => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    for (const { text } of samples(() => name)) await both.ask('PUT', pathOf(name, '1.0.0'), { body: text });
    await both.readAll(name);
  });

  same('the form of the Authorization header, before and after the body', async ({ both }) => {
    const headers = ['', 'x', 'Bearer', 'Bearer ', 'Bearer x', 'Token x', 'Basic eDp5', 'Bearer a.b.c', 'Bearer  x', 'bearer'];
    for (const authorization of headers) {
      for (const body of [documentOf(both.freshName()), '{}'])
        await both.ask('POST', '/v0/publish', { body, token: null, headers: { authorization } });
    }
    for (const body of [documentOf(both.freshName()), '{}', '{', '']) await both.ask('POST', '/v0/publish', { body, token: null });
    const authorization = `bEaReR ${await both.tokenFor({ action: 'publish', resource: '*' })}`;
    await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), token: null, headers: { authorization } });
  });

  same('tokens: signature, times and what is not looked at', async ({ both }) => {
    const soon = Math.floor(Date.now() / 1000) + 60;
    const unsigned = [{ alg: 'none' }, { exp: soon, permissions: everything }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const tokens = [
      await both.signed({ exp: soon }),
      await both.signed({ exp: soon - 61 }),
      await both.signed({ exp: soon - 3600 }),
      await both.signed({}),
      await both.signed({ exp: soon, nbf: soon - 20 }),
      await both.signed({ exp: soon, nbf: soon - 90, iat: soon + 600, iss: 'x', aud: ['y'], sub: 'z' }),
      await both.signed({ exp: soon + 365 * 86_400 }),
      await both.signed({ exp: soon }, { key: 'b'.repeat(64) }),
      await both.signed({ exp: soon }, { alg: 'HS256' }),
      `${unsigned.join('.')}.`,
      await both.signed({ exp: soon, permissions: null }),
      await both.signed({ exp: soon, permissions: [] }),
      await both.signed({ exp: soon, permissions: 'x' }),
      await both.signed({ exp: soon, permissions: [{ action: 'publish' }] }),
      await both.signed({ exp: soon, permissions: [{ resource: '*' }] }),
      await both.signed({ exp: soon + 0.5 }),
    ];
    for (const token of tokens) await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), token });
  });

  same('the anonymous token', async ({ both }) => {
    const { official, embedded } = await both.ask('POST', '/v0/auth/none');
    const claims = [official, embedded].map(({ body }) => decodeJwt((body as { registry_token: string }).registry_token));
    const [theirs, ours] = claims.map(({ iat = 0, exp = 0, nbf = 0, permissions, iss, auth_method: method }) => {
      return { lives: exp - iat, from: nbf - iat, permissions, iss, method };
    });
    expect(ours).toEqual(theirs);
  });

  same('permissions: what they cover, and where in the order they are checked', async ({ both }) => {
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
      const token = await both.tokenFor({ action: 'publish', resource });
      await both.ask('POST', '/v0/publish', { body: documentOf(name, { version: `1.0.${index}` }), token });
    }
    const tokens = [
      await both.tokenFor({ action: 'publish', resource: '*' }),
      await both.tokenFor({ action: 'edit', resource: '*' }),
      await both.tokenFor({ action: 'publish', resource: 'other/*' }, { action: 'publish', resource: 'more/x' }),
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
  });

  same('sizes of bodies', async ({ both }) => {
    for (const bytes of [1_048_575, 1_048_576, 1_048_577, 3_000_000]) {
      await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()).padEnd(bytes) });
    }
  });

  same('bodies that are no JSON, or no object', async ({ both }) => {
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
  });

  same('types of bodies', async ({ both }) => {
    const types = words`application/json APPLICATION/JSON application/json;charset=utf-16 application/json; application/problem+json text/x+json json
      text/plain */* application/x-www-form-urlencoded application/yaml application/cbor a/b;c=d+json a+b/c+json + ;`;
    for (const type of ['', 'application/json ', 'application/json ; a=b', 'application/json; a=b', ...types]) {
      await both.ask('POST', '/v0/publish', { body: documentOf(both.freshName()), headers: { 'content-type': type } });
    }
    await both.ask('POST', '/v0/publish', {
      body: documentOf(both.freshName()),
      headers: { 'content-encoding': 'gzip', accept: 'text/html' },
    });
  });

  same('a body that does not arrive in 5 s', async ({ both }) => {
    const token = await both.tokenFor({ action: 'publish', resource: '*' });
    const [theirs, ours] = await Promise.all([sendHalf(both.urls.official, token), sendHalf(both.urls.embedded, token)]);
    expect(ours).toEqual(theirs);
  });

  same('duplicates in every state, shared remotes', async ({ both }) => {
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
  });

  same('what cannot be stored, and in which order that is said', async ({ both }) => {
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
  });
}

function isPublishable(text: string): boolean {
  return validateServerJson(JSON.parse(text)).length === 0;
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
