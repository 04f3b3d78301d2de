import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Answers with JSON and nothing else; does nothing when an answer has begun. */
export function answerJson(res: ServerResponse, status: number, body: unknown, headers: OutgoingHttpHeaders = {}): void {
  if (res.headersSent || res.destroyed) return;
  const text = `${JSON.stringify(body)}\n`;
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers });
  res.end(text);
}

/** The path of a request without its query, as sent. */
export function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0] ?? '/';
}

/** Time for a client to read why its connection ends. */
const LINGER_MS = 1000;

/** Answers what the HTTP parser could not accept: the answer goes to the bare connection, which is then closed. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  const [status, message] = unreadable(error);
  const text = `${JSON.stringify({ error: message })}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
  // a client that never closes its own half would keep the connection for ever
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function unreadable(error: NodeJS.ErrnoException): [status: number, message: string] {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'the request headers are too large'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'the chunk extensions of the request are too large'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'the request took too long to arrive'];
    default:
      return [400, `not an HTTP request: ${error.message}`];
  }
}
