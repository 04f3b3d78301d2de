import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, expect, test } from 'vitest';
import { runCommand } from './commands.ts';
import { StartResponseSchema, type StartResponse } from './process_pb.ts';
import { OutputFlood, Sandboxd } from './sandboxd.ts';

/** A runtime that a guest has put in the place of the real one. */
class Hostile {
  readonly #http: Server;
  readonly #http2: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly runtime: Sandboxd;
  calls = 0;

  private constructor(http: Server, http2: Http2Server) {
    this.#http = http;
    this.#http2 = http2;
    http2.on('session', (session) => this.#sessions.add(session));
    this.runtime = new Sandboxd('127.0.0.1', { grpc: portOf(http2), rest: portOf(http) });
  }

  static async start(
    file: (req: IncomingMessage, res: ServerResponse) => void,
    program: (stream: ServerHttp2Stream) => void,
  ): Promise<Hostile> {
    const http = createServer((req, res) => file(req, res)).listen(0, '127.0.0.1');
    const http2 = createHttp2Server().listen(0, '127.0.0.1');
    await Promise.all([once(http, 'listening'), once(http2, 'listening')]);
    const hostile = new Hostile(http, http2);
    http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      if (headers[':path'] !== '/process.v1.ProcessService/Start') return stream.close();
      hostile.calls += 1;
      stream.on('error', () => {});
      program(stream);
    });
    return hostile;
  }

  async close(): Promise<void> {
    this.runtime.close();
    for (const session of this.#sessions) session.destroy();
    this.#http.closeAllConnections();
    this.#http.close();
    this.#http2.close();
    await Promise.all([once(this.#http, 'close'), once(this.#http2, 'close')]);
  }
}

function portOf(server: Server | Http2Server): number {
  return (server.address() as AddressInfo).port;
}

/** One message as gRPC frames it. */
function message(event: StartResponse['event']): Buffer {
  return framed(toBinary(StartResponseSchema, create(StartResponseSchema, { event })));
}

function framed(bytes: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const exit = (exitCode = 0) => message({ case: 'exit', value: { $typeName: 'process.v1.ExitEvent', exitCode } });
const init = () => message({ case: 'init', value: { $typeName: 'process.v1.InitEvent', processId: 1 } });
const out = (bytes: Uint8Array) => message({ case: 'stdout', value: bytes });

function answer(stream: ServerHttp2Stream, ...messages: readonly Buffer[]): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat(messages));
}

const never = new AbortController().signal;
const noFiles = (_: IncomingMessage, res: ServerResponse) => void res.end();
const noPrograms = (stream: ServerHttp2Stream) => stream.close();
const run = ({ runtime }: Hostile, signal = never) => runtime.run({ argv: ['x'], input: new Uint8Array(), signal, onOutput: () => {} });
const file = { path: '/workspace/a/b', signal: never };

let hostile: Hostile;
afterEach(() => hostile.close());

test('a program’s output and exit code are what is asked for; events of later versions are passed over', async () => {
  hostile = await Hostile.start(noFiles, (stream) => answer(stream, init(), framed(new Uint8Array()), out(Buffer.from('hi')), exit(3)));
  const result = await runCommand(hostile.runtime, { command: 'x', timeoutMs: 1000, signal: never }, { outputBytes: 9, ownTree: true });
  expect(result).toMatchObject({ exitCode: 3, stdout: Buffer.from('hi'), timedOut: false });
});

test.each([
  ['no end', [init(), out(Buffer.from('x'))]],
  ['two ends', [init(), exit(), exit()]],
  ['output after the end', [init(), exit(), out(Buffer.from('x'))]],
  ['two beginnings', [init(), init(), exit()]],
  ['bytes that are no message', [framed(Buffer.from([0xff, 0xff, 0xff]))]],
  ['a message that is too large', [init(), out(Buffer.alloc(300 * 1024)), exit()]],
  ['a message that says it is larger than it is', [Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])]],
  ['a compressed message', [init(), framed(Buffer.from('x'), 1), exit()]],
])('%s is no answer to a program, and it is not sent again', async (_what, messages) => {
  hostile = await Hostile.start(noFiles, (stream) => answer(stream, ...messages));
  await expect(run(hostile)).rejects.toMatchObject({ name: 'RuntimeFault' });
  expect(hostile.calls).toBe(1);
});

test('output without end is cut, and the program ended', async () => {
  let sent = 0;
  hostile = await Hostile.start(noFiles, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
    const piece = out(Buffer.alloc(200 * 1024));
    const more = (): void => {
      while (!stream.destroyed && stream.write(piece)) sent += piece.length;
      if (!stream.destroyed) stream.once('drain', more);
    };
    more();
  });
  await expect(run(hostile)).rejects.toBeInstanceOf(OutputFlood);
  expect(sent).toBeLessThan(80 * 1024 * 1024);
});

test('a runtime that breaks the connection is lost, and asked once only', async () => {
  hostile = await Hostile.start(noFiles, (stream) => stream.session?.destroy());
  await expect(run(hostile)).rejects.toMatchObject({ code: 'lost' });
  expect(hostile.calls).toBe(1);
});

test('one that says nothing is left when the caller leaves', async () => {
  hostile = await Hostile.start(noFiles, () => {});
  await expect(run(hostile, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('headers of any size end the connection, not this program', async () => {
  hostile = await Hostile.start(noFiles, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto', 'x-large': 'x'.repeat(60_000) });
    stream.end();
  });
  await expect(run(hostile)).rejects.toMatchObject({ name: 'RuntimeFault' });
});

test('a redirect is not followed', async () => {
  let asked = 0;
  hostile = await Hostile.start((_, res) => {
    asked += 1;
    res.writeHead(302, { location: '/v1/files/other' }).end();
  }, noPrograms);
  await expect(hostile.runtime.readFile(file, 10)).rejects.toMatchObject({ code: 'answered', status: 302 });
  expect(asked).toBe(1);
});

test('a file without end is read as far as is asked for', async () => {
  hostile = await Hostile.start((_, res) => {
    const more = (): void => {
      while (!res.destroyed && res.write(Buffer.alloc(64 * 1024)));
      if (!res.destroyed) res.once('drain', more);
    };
    more();
  }, noPrograms);
  expect(await hostile.runtime.readFile(file, 1000)).toHaveLength(1001);
});

test.each([
  [
    'both forms of a listing, and an empty one',
    { path: '/', entries: [{ name: 'b', size: 1, type: 'file', modified_at: '2026-11-30T12:00:00Z', mode: '0644' }] },
    [['b', 1_796_040_000]],
  ],
  ['the older one', [{ name: 'a', size: 0, type: 'directory', mod_time: 12.5 }], [['a', 12.5]]],
  ['none at all', { path: '/', entries: null }, []],
])('%s is understood', async (_what, listing, entries) => {
  hostile = await Hostile.start(
    (_, res) => void res.setHeader('content-type', 'application/json').end(JSON.stringify(listing)),
    noPrograms,
  );
  const listed = await hostile.runtime.listFiles(file, 10);
  expect(listed?.entries.map(({ name, modifiedAt }) => [name, modifiedAt])).toEqual(entries);
});

test.each([
  ['garbage', 'not JSON', 'protocol'],
  ['sizes that are none', JSON.stringify([{ name: 'a', size: -1, type: 'file' }]), 'protocol'],
  ['names that are none', JSON.stringify([{ name: '', size: 1, type: 'file' }]), 'protocol'],
  ['a type of its own', JSON.stringify([{ name: 'a', size: 1, type: 'socket' }]), 'protocol'],
  ['more than anybody reads', `["${'x'.repeat(9 * 1024 * 1024)}"]`, 'answered'],
])('a listing of %s is an error', async (_what, body, code) => {
  hostile = await Hostile.start((_, res) => void res.setHeader('content-type', 'application/json').end(body), noPrograms);
  await expect(hostile.runtime.listFiles(file, 10)).rejects.toMatchObject({ code });
});

test.each([
  ['too many headers', (res: ServerResponse) => res.setHeader('x', 'y'.repeat(20_000)).end()],
  ['a reason of any size', (res: ServerResponse) => res.writeHead(500).end(JSON.stringify({ message: 'x'.repeat(1_000_000) }))],
  ['no HTTP', (res: ServerResponse) => res.socket?.end('nonsense\r\n\r\n')],
  ['a broken answer', (res: ServerResponse) => res.socket?.destroy()],
])('%s about a file is an error, and the file is not asked for twice', async (_what, respond) => {
  let asked = 0;
  hostile = await Hostile.start((_, res) => {
    asked += 1;
    respond(res);
  }, noPrograms);
  const refused = await hostile.runtime.writeFile(file, Buffer.from('x')).catch((error: Error) => error);
  expect(refused).toMatchObject({ name: 'RuntimeFault' });
  expect((refused as Error).message.length).toBeLessThan(600);
  expect(asked).toBe(1);
});

test('a path is one part of the address, whatever is in it', async () => {
  const asked: string[] = [];
  hostile = await Hostile.start((req, res) => {
    asked.push(req.url ?? '');
    res.end();
  }, noPrograms);
  await hostile.runtime.readFile({ path: '/workspace/a b/ü/%2F?x#y', signal: never }, 10);
  expect(asked).toEqual(['/v1/files/a%20b%2F%C3%BC%2F%252F%3Fx%23y']);
});
