import type { Errand, Outcome } from '../pods/errand.ts';
import { api, apply, eventually, kubectl } from './cluster.ts';
import { PODS_IMAGE, type Pod } from './yard.ts';

export interface Impostor {
  run(errand: Errand): Promise<Outcome>;
  remove(): Promise<void>;
}

/** The tests' client with the labels of a part, so that policies take it for that part; no Service leads to it. */
export async function impostor({ namespace, part }: { readonly namespace: string; readonly part: string }): Promise<Impostor> {
  const name = `as-${part}`;
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { 'app.kubernetes.io/name': part, 'app.kubernetes.io/part-of': 'toolyard' } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'main',
          image: PODS_IMAGE,
          args: ['client.mjs'],
          // never ready, so that no Service leads to it
          readinessProbe: { exec: { command: ['/none'] } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  });
  await kubectl('-n', namespace, 'wait', '--for=jsonpath={.status.phase}=Running', `pod/${name}`, '--timeout=60s');
  const { status } = await api.get<Pod>({ kind: 'Pod', namespace, name });
  // the node reaches its pods whatever the policies say
  const run = async (errand: Errand): Promise<Outcome> => {
    const body = JSON.stringify(errand);
    const answer = await fetch(`http://${status.podIP}:8000`, { method: 'POST', body, signal: AbortSignal.timeout(30_000) });
    return (await answer.json()) as Outcome;
  };
  await eventually(`${name} to do errands`, () => run({ do: 'connect', host: '127.0.0.1', port: 8000 }));
  return { run, remove: async () => void (await kubectl('-n', namespace, 'delete', 'pod', name, '--grace-period=1')) };
}
