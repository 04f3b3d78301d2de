import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A website of one page on a free port of this machine. */
export interface Site {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** requests answered, robots.txt aside */
  readonly hits: () => number;
  close(): Promise<void>;
}

const page = `<!doctype html>
<html lang="en">
<head><title>Tide tables of Nowhere Bay</title></head>
<body>
<nav><a href="/">Home</a></nav>
<article>
<h1>Tide tables of Nowhere Bay</h1>
<p>The bay has two high tides a day. They are about twelve hours and twenty-five minutes apart, because the moon moves on while the
earth turns below it, and a sailor who plans a landing has to know both of them.</p>
<p>On the <strong>first of the month</strong> the morning tide stands at 4.2 metres and the evening tide at 3.9 metres. Small boats
may pass the bar at any time when the water stands above two metres, larger ones in the hour around high water only.</p>
<table><tr><th>Tide</th><th>Height</th></tr><tr><td>morning</td><td>4.2 m</td></tr><tr><td>evening</td><td>3.9 m</td></tr></table>
</article>
</body>
</html>
`;

export async function openSite(): Promise<Site> {
  let hits = 0;
  const server = createServer((request, response) => {
    const found = request.url === '/';
    if (found) hits += 1;
    response.writeHead(found ? 200 : 404, { 'content-type': found ? 'text/html; charset=utf-8' : 'text/plain' });
    response.end(found ? page : 'not found\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits: () => hits, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
