import { api } from './cluster.ts';
import { INSTALL, type Pod } from './yard.ts';

const PORT = 9090;

/** What a process of the installation counts. The node reaches its pods whatever the policies say. */
export class Metrics {
  readonly pod: string;
  readonly #text: string;

  constructor(pod: string, text: string) {
    this.pod = pod;
    this.#text = text;
  }

  /** The sum of a metric's values, of those with this in their labels. */
  sum(name: string, labels = ''): number {
    const lines = this.#text
      .split('\n')
      .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }
}

/** Of each pod of a part that answers. */
export async function metricsOf(part: string): Promise<readonly Metrics[]> {
  const pods = await api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: `app.kubernetes.io/name=${part}` });
  const asked = pods.map(async ({ metadata, status }) => {
    const answer = await fetch(`http://${status.podIP}:${PORT}/metrics`, { signal: AbortSignal.timeout(10_000) });
    return new Metrics(metadata.name, await answer.text());
  });
  return (await Promise.allSettled(asked)).flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** Of the operator that works. @throws Error when none does */
export async function leaderMetrics(): Promise<Metrics> {
  const leader = (await metricsOf('operator')).find((metrics) => metrics.sum('toolyard_leader') === 1);
  if (leader === undefined) throw new Error('no operator says that it works');
  return leader;
}
