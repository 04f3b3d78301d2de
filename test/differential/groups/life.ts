import { expect } from 'vitest';
import { PUBLISHER_META, SCHEMA_URL } from '../../../lib/registry-api/server-json.ts';
import { documentOf, pathOf } from '../../../mcp-servers/registry/testing.ts';
import { versions } from '../documents.ts';
import type { BothAnswers, TwoRegistries } from '../two-registries.ts';
import { alike } from './alike.ts';
import { words } from './words.ts';

export function life(pair: TwoRegistries): void {
  const same = alike(pair);

  same('every transition of the status, with and without message', async ({ both }) => {
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
  });

  same('bodies and paths of a status change', async ({ both }) => {
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
  });

  same('which version is latest, through publications, deletions and restorations', async ({ both }) => {
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
  });

  same('every version string, one after the other, under one name', async ({ both }) => {
    const name = both.freshName();
    for (const version of versions) await both.publish(name, version);
    await both.readAll(name);
    await both.setStatus(name, '1.0.0.0', { status: 'deprecated' });
    await both.readAll(name);
  });

  same('ten publications at once: of one version one is taken, of ten versions all, and one is the latest', async ({ both }) => {
    const name = both.freshName();
    const publishAll = async (published: readonly string[]) => {
      const post = (version: string) => both.askWithoutComparing('POST', '/v0/publish', { body: documentOf(name, { version }) });
      const answers = await Promise.all(published.map(post));
      const taken = (side: keyof BothAnswers) => answers.filter((answer) => answer[side].status === 200).length;
      expect(taken('embedded')).toBe(taken('official'));
      return taken('embedded');
    };
    expect(await publishAll(Array.from({ length: 10 }, () => '0.1.0'))).toBe(1);
    expect(await publishAll(Array.from({ length: 10 }, (_, index) => `1.${index}.0`))).toBe(10);
    // In the order of versions; that of publication is each registry's own.
    for (const filter of ['', '&version=latest']) await both.get(`/v0/servers?search=${name}${filter}`);
    await both.get(pathOf(name, 'latest'));
  });

  same('versions that are no semantic ones', async ({ both }) => {
    const name = both.freshName();
    for (const version of words`b a c 1 1.0 v1`) await both.publish(name, version);
    await both.readAll(name);
    await both.setStatus(name, 'v1', { status: 'deleted' });
    await both.readAll(name);
    await both.setStatus(name, 'a', { status: 'deprecated' });
    await both.readAll(name);
  });

  same('the status of all versions at once', async ({ both }) => {
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
  });

  same('edits: renaming, other versions, deleted records, what stays', async ({ both }) => {
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
  });

  same('the stored form: empties, nulls, flags, numbers', async ({ both }) => {
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
  });
}
