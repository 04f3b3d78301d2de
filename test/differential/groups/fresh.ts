import * as fc from 'fast-check';
import { OFFICIAL_META, type ServerRecord } from '../../../lib/registry-api/server-json.ts';
import { pathOf } from '../../../mcp-servers/registry/testing.ts';
import { drawing } from '../drawing.ts';
import type { BothAnswers, TwoRegistries } from '../two-registries.ts';
import { alike } from './alike.ts';
import { words } from './words.ts';

/** Lists over whole registries that nobody else writes to; first while they are empty. */
export function fresh(pair: TwoRegistries): void {
  const same = alike(pair);

  same('without any record', async ({ both }) => {
    await both.get(
      ...words`/v0/servers /v0/servers?limit=1 /v0/servers?version=latest /v0/servers?include_deleted=true /v0/servers?cursor=a/b:1`,
    );
    await both.get(pathOf('aa/bb', 'latest'), `${pathOf('aa/bb')}/versions`, '/v0/servers?updated_since=2020-01-01T00:00:00Z');
    await both.ask('PATCH', `${pathOf('aa/bb')}/status`, { body: '{"status":"deleted"}' });
  });

  same('without anonymous tokens', async ({ both }) => {
    for (const method of ['POST', 'GET', 'OPTIONS']) await both.ask(method, '/v0.1/auth/none', { headers: asPreflight(method) });
  });

  same('updated_since the very time of a record, before and after it, in every zone', async ({ both }) => {
    const name = both.freshName();
    for (const version of words`1.0.0 2.0.0 3.0.0`) await both.publish(name, version);
    await both.setStatus(name, '2.0.0', { status: 'deleted' });
    const times = await timesOf(both, name);
    for (const time of times) {
      for (const moved of [-1, 0, 1])
        await both.ask(
          'GET',
          sinceTarget(time, (text) => shifted(text, moved)),
        );
      await both.ask(
        'GET',
        sinceTarget(time, (text) => text.replace('Z', '000Z')),
      );
      await both.ask('GET', sinceTarget(time, inZone));
      await both.ask(
        'GET',
        sinceTarget(time, (text) => `${text}&include_deleted=true&version=latest`),
      );
    }
  });

  same('any combination of what a list can be asked', async ({ both }) => {
    await fill(both);
    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        await both.get(`/v0/servers?${query}`);
        if (both.differences.length > 0) throw new Error('the answers differ');
      }),
      drawing(400),
    );
  });
}

/** A preflight is answered by both; an OPTIONS without is one of the allowed differences. */
function asPreflight(method: string): Record<string, string> {
  return method === 'OPTIONS' ? { origin: 'https://a.example', 'access-control-request-method': 'POST' } : {};
}

type Times = Readonly<Record<keyof BothAnswers, string>>;

/** When the versions of a name were written last, on either side. */
async function timesOf(both: TwoRegistries, name: string): Promise<Times[]> {
  const { official, embedded } = await both.ask('GET', `${pathOf(name)}/versions?include_deleted=true`);
  const ofSide = ({ body }: BothAnswers['official']) =>
    (body as { servers: ServerRecord[] }).servers.map(({ _meta }) => _meta[OFFICIAL_META]?.updatedAt ?? '');
  const ours = ofSide(embedded);
  return ofSide(official).map((time, index) => ({ official: time, embedded: ours[index] ?? '' }));
}

function sinceTarget({ official, embedded }: Times, write: (time: string) => string): Times {
  const target = (time: string) => `/v0.1/servers?updated_since=${write(time)}`;
  return { official: target(official), embedded: target(embedded) };
}

/** Moved by microseconds. */
function shifted(time: string, by: number): string {
  const [seconds = '', fraction = ''] = time.replace('Z', '').split('.');
  const micros = BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0')) + BigInt(by);
  const whole = new Date(Number(micros / 1_000_000n) * 1000).toISOString().slice(0, 19);
  return `${whole}.${String(micros % 1_000_000n).padStart(6, '0')}Z`;
}

/** The same moment as clocks two hours ahead show it. */
function inZone(time: string): string {
  const [seconds = '', fraction = '0'] = time.replace('Z', '').split('.');
  const ahead = new Date(Date.parse(`${seconds}Z`) + 7_200_000).toISOString().slice(0, 19);
  return `${ahead}.${fraction}%2B02:00`;
}

const names = words`aa/bb aa/bb-c aa/bb.c aa/bbc aa/BB aa.b/cc ab/cc Zz/yy zz/yy`;
const versionsOfAll = words`1.0.0 1.10.0 1.9.0 1.0.0+b:c snapshot 2.0.0-rc.1`;

async function fill(both: TwoRegistries): Promise<void> {
  for (const [index, name] of names.entries()) {
    for (const version of versionsOfAll.slice(0, 2 + (index % 5))) await both.publish(name, version);
    if (index % 3 === 0) await both.setStatus(name, '1.10.0', { status: 'deleted', statusMessage: 'gone' });
    if (index % 4 === 1) await both.setStatus(name, '1.0.0', { status: 'deprecated' });
  }
  await both.ask('PATCH', `${pathOf('ab/cc')}/status`, { body: '{"status":"deleted"}' });
}

/** Well-formed values mostly, so that filters meet; the rest is what nobody should send. */
const queries: fc.Arbitrary<string> = (() => {
  const junk = fc.string({ unit: 'binary-ascii', maxLength: 4 }).filter((text) => !text.includes('\0'));
  const mostly = (values: readonly string[]) =>
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: junk });
  const cursors = names.flatMap((name) => [name, `${name}:1.0.0`, `${name}:1.10.0`, `${name}:`]);
  const parameter = fc.oneof(
    fc.tuple(fc.constant('limit'), mostly(words`1 2 3 7 30 100 101 0 -1 abc`)),
    fc.tuple(fc.constant('cursor'), mostly(cursors)),
    fc.tuple(fc.constant('search'), mostly(['aa/', 'a/b', 'AA/BB', 'b.c', 'aa/bb-c', 'yy', 'zz/yy', '   ', '%%%', ' aa/', ''])),
    fc.tuple(fc.constant('version'), mostly(['latest', 'LATEST', ...versionsOfAll, ''])),
    fc.tuple(fc.constant('include_deleted'), mostly(words`true false 1 0 t`)),
    fc.tuple(fc.constant('updated_since'), mostly(words`2020-01-01T00:00:00Z 2999-01-01T00:00:00Z 2020-01-01 2020-01-01T00:00:00+02:00`)),
    fc.tuple(junk, junk),
  );
  const escape = fc.constantFrom(encodeURIComponent, (text: string) => encodeURIComponent(text).replaceAll('%20', '+'));
  return fc
    .tuple(fc.array(parameter, { maxLength: 4 }), escape)
    .map(([pairs, escaped]) => pairs.map((pair) => pair.map((text) => escaped(text)).join('=')).join('&'));
})();
