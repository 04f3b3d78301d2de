import { connect, createServer, type Socket } from 'node:net';

/** Forwards connections: `node forward.ts FROM TO`, each a path of a Unix socket or ADDRESS:PORT. Unix sockets cross network namespaces. */
const [from = '', to = ''] = process.argv.slice(2);

const place = (text: string): { path: string } | { host: string; port: number } => {
  if (text.startsWith('/')) return { path: text };
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
};

createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ ...place(to), allowHalfOpen: true });
  const join = (one: Socket, other: Socket) => one.pipe(other).on('error', () => one.destroy());
  join(near, far);
  join(far, near);
}).listen(place(from));
