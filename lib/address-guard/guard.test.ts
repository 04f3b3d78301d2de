import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { request, type Agent } from 'undici';
import { AddressRefused, guardedAgent, type GuardOptions, type Resolve } from './guard.ts';
import { publicOnly, type AddressPolicy } from './policy.ts';

let site: Server;
let port: number;
let reached: number;
const agents: Agent[] = [];

beforeEach(async () => {
  reached = 0;
  site = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1');
  site.on('connection', () => (reached += 1));
  await once(site, 'listening');
  port = (site.address() as AddressInfo).port;
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
  site.closeAllConnections();
  site.close();
});

/** Answers each look-up with the next list of addresses, the last one for ever. */
function answering(...answers: readonly (readonly string[])[]): Resolve & { readonly asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (host) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(host);
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return Object.assign(resolve, { asked });
}

async function get(url: string, policy: AddressPolicy, options: GuardOptions = {}): Promise<string> {
  const agent = guardedAgent(policy, options);
  agents.push(agent);
  const { body } = await request(url, { dispatcher: agent, headersTimeout: 2_000 });
  return body.text();
}

const loopbackOf = (host: string): AddressPolicy => publicOnly({ allowOrigins: [`http://${host}:${port}`] });

describe('nothing is sent to a refused address', () => {
  test.each(['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '①②⑦.0.0.1', '0'])(
    'a literal, spelled %s',
    async (host) => {
      await expect(get(`http://${host}:${port}/`, publicOnly())).rejects.toBeInstanceOf(AddressRefused);
      expect(reached).toBe(0);
    },
  );

  test('a name of the system, with or without trailing dot', async () => {
    await expect(get(`http://localhost:${port}/`, publicOnly())).rejects.toThrow('localhost resolves to');
    await expect(get(`http://localhost.:${port}/`, publicOnly())).rejects.toThrow('which is a loopback address');
    expect(reached).toBe(0);
  });

  test('a name one of whose addresses is refused', async () => {
    const resolve = answering(['93.184.215.14', '127.0.0.1']);
    await expect(get(`http://mixed.test:${port}/`, publicOnly(), { resolve })).rejects.toMatchObject({
      host: 'mixed.test',
      address: '127.0.0.1',
      reason: 'a loopback address',
    });
    expect(reached).toBe(0);
  });

  test('a name that resolves to nonsense, or to nothing', async () => {
    await expect(get(`http://x.test:${port}/`, publicOnly(), { resolve: answering(['127.1']) })).rejects.toBeInstanceOf(AddressRefused);
    await expect(get(`http://x.test:${port}/`, publicOnly(), { resolve: answering([]) })).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('a peer that turns out to be another than the one that was vetted', async () => {
    let judged = 0;
    const onceOnly: AddressPolicy = { judge: () => ((judged += 1) === 1 ? { allow: true } : { allow: false, reason: 'elsewhere' }) };
    await expect(get(`http://127.0.0.1:${port}/`, onceOnly)).rejects.toThrow('127.0.0.1 is elsewhere');
  });
});

test('a name is resolved once per connection, and what was vetted is what is dialled', async () => {
  const resolve = answering(['127.0.0.1'], ['10.0.0.1']);
  expect(await get(`http://flip.test:${port}/`, loopbackOf('flip.test'), { resolve })).toBe('inside');
  expect(resolve.asked).toEqual(['flip.test']);
  expect(reached).toBe(1);
});

test('a name that turns private between two requests is refused at the second', async () => {
  const policy: AddressPolicy = {
    judge: ({ address }) => (address === '127.0.0.1' ? { allow: true } : publicOnly().judge({ host: '', address, port })),
  };
  const agent = guardedAgent(policy, { resolve: answering(['127.0.0.1'], ['127.0.0.2']), pool: { pipelining: 0 } });
  agents.push(agent);
  const first = await request(`http://flip.test:${port}/`, { dispatcher: agent, reset: true });
  expect(await first.body.text()).toBe('inside');
  await expect(request(`http://flip.test:${port}/`, { dispatcher: agent })).rejects.toMatchObject({ address: '127.0.0.2' });
  expect(reached).toBe(1);
});

test('the next vetted address is tried when the first does not answer', async () => {
  const resolve = answering(['127.0.0.9', '127.0.0.1']);
  expect(await get(`http://two.test:${port}/`, loopbackOf('two.test'), { resolve })).toBe('inside');
});

test('an allowed origin is reached by literal and by the system resolver', async () => {
  expect(await get(`http://127.0.0.1:${port}/`, loopbackOf('127.0.0.1'))).toBe('inside');
});

test('a failing resolver fails the request with its own error', async () => {
  const resolve: Resolve = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
  await expect(get(`http://gone.test:${port}/`, publicOnly(), { resolve })).rejects.toThrow('no such name');
});
