/**
 * How long a claim takes to its first output and a further command to its end, through the sandbox backend and by the bare path (create,
 * watch, connect, run), one after the other on the same pool: `test/cluster/cluster in node test/cluster/measure-sandbox.ts [ROUNDS]`.
 */
import { randomBytes } from 'node:crypto';
import { KubeClient } from '../../lib/kube/client.ts';
import { kubeconfigAccess } from '../../lib/kube/credentials.ts';
import { createLog } from '../../lib/log.ts';
import type { SandboxOrder } from '../../mcp-servers/sandbox/backend.ts';
import { KubernetesBackend } from '../../mcp-servers/sandbox/kubernetes/backend.ts';
import { ClaimsClient } from '../../mcp-servers/sandbox/kubernetes/claims-client.ts';
import { newClaim } from '../../mcp-servers/sandbox/kubernetes/claims.ts';
import { Sandboxd } from '../../mcp-servers/sandbox/kubernetes/sandboxd.ts';
import { kubeconfig } from './testing/cluster.ts';
import { POOL, poolFull } from './testing/sandboxes.ts';
import { SANDBOXES } from './testing/yard.ts';

const rounds = Number(process.argv[2] ?? 12);
const COMMANDS = 10;
const never = new AbortController().signal;
const program = 'python3 -c "print(610)"';
const client = new KubeClient({ access: await kubeconfigAccess({ file: kubeconfig }) });
const settings = { namespace: SANDBOXES, warmpool: POOL, outputBytes: 65_536, fileBytes: 65_536, maxAgeMs: 600_000, maxIdleMs: 600_000 };
const backend = new KubernetesBackend(settings, client, createLog('measure', 'silent'));

interface Times {
  readonly first: number[];
  readonly further: number[];
}
const ours: Times = { first: [], further: [] };
const bare: Times = { first: [], further: [] };

function order(): SandboxOrder {
  const now = Date.now();
  const lifetime = { createdAt: now, idleMs: 120_000, shutdownAt: now + 120_000 };
  const handle = `sb-${randomBytes(6).toString('hex')}`;
  return { handle, owner: 'measure', placement: { namespace: SANDBOXES, warmpool: POOL }, lifetime, readyTimeoutMs: 60_000, signal: never };
}

async function timed(times: number[] | undefined, act: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await act();
  times?.push(performance.now() - began);
}

/** With what the server does for each call: it finds the sandbox and puts off its end. */
async function throughBackend(times: Times | undefined): Promise<void> {
  const wanted = order();
  const run = async (command: string) => {
    await backend.find(wanted.handle);
    await backend.renew(wanted.handle, Date.now() + 120_000);
    await backend.execute(wanted.handle, { command, timeoutMs: 30_000, signal: never });
  };
  await timed(times?.first, async () => {
    await backend.create(wanted);
    await run(program);
  });
  for (let left = COMMANDS; left > 0; left -= 1) await timed(times?.further, () => run('true'));
  await backend.delete(wanted.handle);
}

async function byItself(times: Times | undefined): Promise<void> {
  const claims = new ClaimsClient(client, SANDBOXES);
  const wanted = order();
  let runtime: Sandboxd | undefined;
  const run = (command: string) =>
    runtime?.run({ argv: ['sh', '-c', command], input: new Uint8Array(), signal: never, onOutput: () => {} });
  let claim = newClaim(wanted, wanted.lifetime.shutdownAt);
  await timed(times?.first, async () => {
    ({ claim } = await claims.create(claim));
    const { verdict } = await claims.settled(claim, never, () => {});
    if (verdict.is !== 'ready') throw new Error(verdict.why);
    runtime = new Sandboxd(verdict.address);
    await run(program);
  });
  for (let left = COMMANDS; left > 0; left -= 1) await timed(times?.further, async () => run('true'));
  await claims.delete(claim);
  runtime?.close();
}

const at = (sorted: readonly number[], share: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0);
function row(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `${what.padEnd(40)} p50 ${at(sorted, 0.5)} ms  p99 ${at(sorted, 0.99)} ms  (${sorted.length})\n`;
}

for (let round = -1; round < rounds; round += 1) {
  await poolFull();
  await throughBackend(round < 0 ? undefined : ours);
  await poolFull();
  await byItself(round < 0 ? undefined : bare);
}
await backend.close();
process.stdout.write(row('claim to first output, backend', ours.first) + row('claim to first output, bare', bare.first));
process.stdout.write(row('further command, backend', ours.further) + row('further command, bare', bare.further));
