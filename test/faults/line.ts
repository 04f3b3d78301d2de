import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';

/** What a line does to the requests that pass it. */
export const lineFaults = ['slow', 'broken', 'busy', 'cut off', 'empty', 'login page', 'reset', 'answer lost'] as const;
export type LineFault = (typeof lineFaults)[number];

/** A write that reached the registry, and what the registry said. */
export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body: { readonly name?: string; readonly version?: string; readonly status?: string };
  readonly answered: number;
  readonly at: number;
}

const SLOW_MS = 2_000;
const PAUSE_SECONDS = '2';

/** Stands between an operator and a registry, and has a fault for as long as it is told to. */
export class Line {
  readonly #server: Server;
  readonly #target: string;
  fault: LineFault | undefined;
  requests = 0;
  readonly writes: Write[] = [];

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((req, res) => {
      // whatever fails behind the line is a connection that breaks
      void this.#pass(req, res).catch(() => res.destroy());
    });
  }

  static async start(target: string): Promise<Line> {
    const line = new Line(target);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    this.requests += 1;
    const body = await text(req);
    if (this.#refuse(res)) return;
    const { fault } = this;
    if (fault === 'slow') await delay(SLOW_MS);
    const answer = await this.#ask(req, body);
    const isWrite = req.method !== 'GET';
    if (fault === 'answer lost' && isWrite) res.destroy();
    // the first page arrives whole: what is missing then is the rest
    else if (fault === 'cut off' && (isWrite || !isFirstPage(req))) this.#cutOff(res, answer);
    else res.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  }

  /** Faults in which nothing reaches the registry. */
  #refuse(res: ServerResponse): boolean {
    switch (this.fault) {
      case 'broken':
        res.writeHead(500 + (this.requests % 5), { 'content-type': 'text/plain' }).end('upstream failed');
        return true;
      case 'busy':
        res.writeHead(429, { 'retry-after': PAUSE_SECONDS }).end();
        return true;
      case 'empty':
        res.writeHead(200, { 'content-type': 'application/json' }).end();
        return true;
      case 'login page':
        res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
        return true;
      case 'reset':
        res.destroy();
        return true;
      default:
        return false;
    }
  }

  /** By turns as a connection that ends too early, and as a whole answer of half the text. */
  #cutOff(res: ServerResponse, answer: Answer): void {
    const half = answer.text.slice(0, answer.text.length / 2);
    if (this.requests % 2 === 0) res.writeHead(answer.status, { 'content-type': 'application/json' }).end(half);
    else res.writeHead(answer.status, { 'content-length': Buffer.byteLength(answer.text) }).write(half, () => res.destroy());
  }

  async #ask({ method = 'GET', url = '', headers }: IncomingMessage, body: string): Promise<Answer> {
    const { authorization, 'content-type': type } = headers;
    const passed = { ...(authorization !== undefined && { authorization }), ...(type !== undefined && { 'content-type': type }) };
    const answer = await request(`${this.#target}${url}`, { method, headers: passed, ...(body !== '' && { body }) });
    const said = await answer.body.text();
    const read = body === '' ? {} : (JSON.parse(body) as Write['body']);
    if (method !== 'GET') this.writes.push({ method, path: url, body: read, answered: answer.statusCode, at: performance.now() });
    return { status: answer.statusCode, text: said };
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function isFirstPage({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/v0.1/servers?') && !url.includes('cursor=');
}

async function text(req: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of req) body += String(chunk);
  return body;
}
