import { once } from 'node:events';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { certificateFacts, isSignedBy } from './certificates.ts';
import { newAuthority, newCertificate } from './issue.ts';

const DAY = 86_400_000;

test('a certificate is accepted by clients that know its authority, for its hosts and no others', async () => {
  const authority = await newAuthority('toolyard test', Date.now());
  const { cert, key } = await newCertificate(['fetch.toolyard.svc', '127.0.0.1'], authority, Date.now());
  const server = createServer({ cert, key }, (_req, res) => res.end('ok')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async (servername: string): Promise<string> => {
    const outcome = Promise.withResolvers<string>();
    const request = get({ host: '127.0.0.1', port, servername, ca: authority.cert, agent: false, headers: { host: servername } });
    request.on('response', ({ socket }) => outcome.resolve((socket as TLSSocket).authorized ? 'accepted' : 'refused'));
    request.on('error', (error: NodeJS.ErrnoException) => outcome.resolve(error.code ?? error.message));
    return outcome.promise.finally(() => request.destroy());
  };
  expect(await ask('fetch.toolyard.svc')).toBe('accepted');
  expect(await ask('other.toolyard.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  server.close();
  server.closeAllConnections();
});

test('what was issued is told by what is read: hosts, times, who signed', async () => {
  const now = Date.UTC(2026, 10, 30);
  const [one, other] = [await newAuthority('toolyard test', now), await newAuthority('toolyard test', now)];
  const { cert } = await newCertificate(['b.svc', 'a.svc', '10.0.0.1'], one, now);
  const facts = certificateFacts(cert);
  expect(facts?.hosts).toEqual(['10.0.0.1', 'a.svc', 'b.svc']);
  expect(facts?.until).toBe(now + 90 * DAY);
  expect(certificateFacts(one.cert)?.until).toBe(now + 3650 * DAY);
  expect([isSignedBy(cert, one.cert), isSignedBy(cert, other.cert), isSignedBy(cert, undefined)]).toEqual([true, false, false]);
  expect([certificateFacts(undefined), certificateFacts('nonsense')]).toEqual([undefined, undefined]);
});

test('a certificate never outlives its authority', async () => {
  const now = Date.UTC(2026, 10, 30);
  const authority = await newAuthority('toolyard test', now);
  const end = certificateFacts(authority.cert)?.until ?? 0;
  const { cert } = await newCertificate(['a.svc'], authority, end - DAY);
  expect(certificateFacts(cert)?.until).toBe(end);
});
