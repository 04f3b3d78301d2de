import { expect, test } from 'vitest';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Line } from './line.ts';
import { kinds } from './registries.ts';
import { seconds, tell } from './tell.ts';
import { inWorld } from './world.ts';

const FLAPS = 30;
const INTERVAL_SECONDS = 3;
/** Within an interval a record is deprecated once and made active once, whatever its server does: three failures, one answer. */
const MOST_CHANGES = 2 * (FLAPS / INTERVAL_SECONDS + 2);

/** A way to a server that can be cut: connections are refused at once, as by a crashed process behind its port. */
class Gate {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  open = true;

  private constructor(target: string) {
    const { hostname, port } = new URL(target);
    this.#server = createServer((socket) => {
      this.#keep(socket);
      if (!this.open) {
        socket.destroy();
        return;
      }
      const onward = connect(Number(port), hostname);
      this.#keep(onward);
      socket.pipe(onward).pipe(socket);
    });
  }

  static async start(target: string): Promise<Gate> {
    const gate = new Gate(target);
    gate.#server.listen(0, '127.0.0.1');
    await once(gate.#server, 'listening');
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(open: boolean): void {
    this.open = open;
    if (!open) for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.set(false);
    this.#server.close();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

test.concurrent.each(kinds)(
  '%s: a server that comes and goes every second for 30 s changes its record seldom, and it ends right',
  async (kind) => {
    await inWorld(kind, {}, async (world) => {
      const line = await Line.start(world.registry.url);
      const gate = await Gate.start(world.servers[0]?.url ?? '');
      try {
        const env = { PROBE_INTERVAL_SECONDS: String(INTERVAL_SECONDS) };
        const install = await world.install({ name: 'ours', registryUrl: line.url, env });
        await install.declare('flaps', install.document('flaps'), { endpoint: `${gate.url}/mcp` });
        await install.declare('stays', install.document('stays'), world.probing(1));
        install.operator.start();
        await world.converge();
        const before = line.writes.length;
        for (let flap = 0; flap < FLAPS; flap += 1) {
          gate.set(flap % 2 === 1);
          await delay(1_000);
        }
        gate.set(true);
        const took = await world.converge();
        const writes = line.writes.slice(before);
        tell(`flapping, ${kind}`, {
          flaps: FLAPS,
          'probe interval': seconds(INTERVAL_SECONDS * 1000),
          writes: writes.length,
          converged: seconds(took),
        });
        expect(writes.length).toBeLessThanOrEqual(MOST_CHANGES);
        expect(writes.filter(({ path }) => !path.includes('flaps'))).toEqual([]);
      } finally {
        await gate.close();
        await line.close();
      }
    });
  },
);
