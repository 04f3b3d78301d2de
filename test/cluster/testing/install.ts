import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { api, apply, control, eventually, kubectl, make, type KubeObject } from './cluster.ts';
import { INSTALL, namespace, SANDBOXES, TEAM_A, TEAM_B, whoami } from './yard.ts';

interface Timed {
  readonly step: string;
  readonly ms: number;
}

/** From nothing, or anything, to an installation that is ready, and two teams with a server each. */
export async function install(): Promise<readonly Timed[]> {
  const timed: Timed[] = [];
  const time = async (step: string, doing: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await doing();
    timed.push({ step, ms: performance.now() - began });
  };
  await freeVolumes();
  await time('agent-sandbox', () => control('agent-sandbox'));
  await time('applied', () => make('apply', 'OVERLAY=test/cluster/install'));
  await time('ready', () => make('wait-ready'));
  await time('teams', async () => {
    await apply(...[TEAM_A, TEAM_B].map((team) => namespace(team)), ...whoami(TEAM_A), ...whoami(TEAM_B));
    for (const team of [TEAM_A, TEAM_B]) await kubectl('-n', team, 'rollout', 'status', 'deployment/whoami', '--timeout=120s');
  });
  return timed;
}

interface Volume extends KubeObject {
  readonly spec: { readonly hostPath?: { readonly path: string } };
  readonly status: { readonly phase: string };
}

/** What provisioners do where there are some: a volume whose claim is gone is emptied, and can be claimed again. */
async function freeVolumes(): Promise<void> {
  const released = (await api.list<Volume>({ kind: 'PersistentVolume' })).filter(({ status }) => status.phase === 'Released');
  for (const { metadata, spec } of released) {
    const directory = spec.hostPath?.path ?? '';
    for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
    await api.patch({ kind: 'PersistentVolume', name: metadata.name }, { spec: { claimRef: null } });
  }
}

interface Deployment extends KubeObject {
  readonly spec: { readonly replicas: number };
}

/** Removes the installation as users do, and waits until nothing of its namespaces is left. */
export async function uninstall(): Promise<void> {
  await kubectl('delete', '-k', 'test/cluster/install', '--wait=false');
  for (const name of [INSTALL, SANDBOXES])
    await eventually(`the namespace ${name} to be gone`, async () => (await api.find({ kind: 'Namespace', name })) === undefined);
}

/** Changes the number of pods, and waits until they are ready or gone. */
export async function scale(where: { readonly namespace: string; readonly name: string }, replicas: number): Promise<number> {
  const at = { kind: 'Deployment', ...where };
  const { spec } = await api.get<Deployment>(at);
  await api.patch(at, { spec: { replicas } });
  await kubectl('-n', where.namespace, 'rollout', 'status', `deployment/${where.name}`, '--timeout=120s');
  return spec.replicas;
}
