import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';
import type { Job, LoadRequest, Outcome, Reply } from './job.ts';
import { messageOf } from '../../lib/error-message.ts';

// A process of its own, forked by client.ts: what it costs to ask must not be taken from the time of whoever answers.

const READ_BYTES = 256 * 1024;

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => reply({ outcome }),
    (error: unknown) => reply({ error: messageOf(error) }),
  );
});

function reply(message: Reply): void {
  process.send?.(message);
}

/** @throws Error with the first answer that is not 200 */
async function run({ url, callers, requests, forMs }: Job): Promise<Outcome> {
  const { hostname, port, host } = new URL(url);
  const wires = requests.map((request) => wireOf(request, host));
  const sockets = await Promise.all(Array.from({ length: callers }, () => opened(hostname, Number(port))));
  const started = performance.now();
  const cpu = process.cpuUsage();
  const total = { sent: 0, answers: 0, bytes: 0 };
  const next = (): Buffer | undefined => {
    const over = forMs === undefined ? total.sent === wires.length : performance.now() - started >= forMs;
    if (over) return undefined;
    total.sent += 1;
    return wires[(total.sent - 1) % wires.length];
  };
  try {
    await Promise.all(sockets.map((socket) => socket.call(next, total)));
  } finally {
    for (const socket of sockets) socket.close();
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    answers: total.answers,
    bytes: total.bytes,
    seconds: (performance.now() - started) / 1000,
    clientSeconds: (user + system) / 1e6,
  };
}

function wireOf({ method, target, headers = {}, body }: LoadRequest, host: string): Buffer {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries({ host, accept: '*/*', ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
}

interface Connection {
  /** Sends what `next` gives, one after the other, until it gives nothing. */
  call(next: () => Buffer | undefined, total: { answers: number; bytes: number }): Promise<void>;
  close(): void;
}

/** A connection that is kept alive, and reads into one buffer that it uses again. */
function opened(host: string, port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let received: (bytes: Buffer) => void = () => {};
    let failed: (error: Error) => void = reject;
    const socket: Socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (length, buffer) => {
          received(Buffer.from(buffer.buffer, buffer.byteOffset, length));
          return true;
        },
      },
    });
    const call: Connection['call'] = (next, total) =>
      new Promise((done, fail) => {
        const reader = new AnswerReader();
        failed = fail;
        const send = (): void => {
          const wire = next();
          if (wire === undefined) done();
          else socket.write(wire);
        };
        received = (bytes) => {
          total.bytes += bytes.length;
          try {
            if (!reader.read(bytes)) return;
          } catch (error) {
            return fail(error instanceof Error ? error : new Error(String(error)));
          }
          if (reader.status !== 200) return fail(new Error(`answered ${reader.status}: ${reader.shown}`));
          total.answers += 1;
          send();
        };
        send();
      });
    socket.on('error', (error) => failed(error));
    socket.on('close', () => failed(new Error('the server closed the connection')));
    socket.on('connect', () => resolve({ call, close: () => socket.destroy() }));
  });
}
