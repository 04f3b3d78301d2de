import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { impostor } from './testing/impostor.ts';
import { api, apply, eventually, kubectl, type KubeObject } from './testing/cluster.ts';
import { execIn, poolFull, sandboxPods } from './testing/sandboxes.ts';
import { clientPod, INSTALL, namespace, SANDBOXES, type Pod } from './testing/yard.ts';

/** May use the servers, which does not mean sandboxes. */
const FRIEND = 'client-of-sandboxes';
const STRANGER = 'stranger-to-sandboxes';
/** A site on the internet, a cloud's metadata, the API server by its Service and itself, the kubelet, the cluster's DNS. */
const OUTSIDE = [
  ['93.184.215.14', 80],
  ['169.254.169.254', 80],
  ['10.96.0.1', 443],
  ['10.200.0.1', 6443],
  ['10.200.0.1', 10_250],
  ['10.96.0.10', 53],
] as const;
const PATIENCE_SECONDS = 3;
let pods: readonly Pod[];
let inside: string;

beforeAll(async () => {
  await apply(namespace(FRIEND, { 'toolyard.dev/client': 'true' }), namespace(STRANGER));
  await poolFull();
  pods = await sandboxPods();
  inside = pods[0]?.metadata.name ?? '';
});
afterAll(async () => {
  await kubectl('delete', 'namespace', FRIEND, STRANGER, '--wait=false');
});

describe('a sandbox of the pool', () => {
  test('runs under gVisor, as nobody, without rights', async () => {
    expect(pods.length).toBeGreaterThanOrEqual(3);
    for (const { metadata } of pods) expect(await execIn(metadata.name, 'uname', '-r')).toMatch(/gvisor/);
    expect(await execIn(inside, 'dmesg')).toMatch(/Starting gVisor/);
    expect(await execIn(inside, 'id', '-u')).toBe('1000\n');
    expect(await execIn(inside, 'sh', '-c', 'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status')).toMatch(
      /^CapEff:\s+0+\nCapBnd:\s+0+\nNoNewPrivs:\s+1\n$/,
    );
  });

  test('has no token of the cluster, and none of its names', async () => {
    expect(await execIn(inside, 'sh', '-c', 'ls /var/run/secrets 2>/dev/null | wc -l')).toBe('0\n');
    expect(await execIn(inside, 'cat', '/etc/resolv.conf')).not.toMatch(/cluster\.local|10\.96/);
  });

  test.each(['python3 -c "print(6*7)"', 'python -c "print(6*7)"', 'node -p 6*7', 'bash -c "echo $((6*7))"'])('has %s', async (command) => {
    expect(await execIn(inside, 'sh', '-c', command)).toBe('42\n');
  });

  test('writes to /workspace and /tmp, and nowhere else', async () => {
    const tried = ['/workspace', '/tmp', '/', '/usr/local/bin', '/etc', '/home', '/var/tmp'];
    const script = `for place in ${tried.join(' ')}; do touch $place/mark 2>/dev/null && rm $place/mark && echo $place; done; true`;
    expect((await execIn(inside, 'sh', '-c', script)).trim().split('\n')).toEqual(['/workspace', '/tmp']);
  });

  test.each(['/workspace', '/tmp'])('meets the end of %s at once, and lives on', async (place) => {
    const write = `dd if=/dev/zero of=${place}/large bs=1M count=200 2>&1; stat -c %s ${place}/large; rm ${place}/large`;
    const said = await execIn(inside, 'sh', '-c', write);
    expect(said).toMatch(/No space left on device/);
    expect(said).toMatch(new RegExp(`^${128 * 1024 * 1024}$`, 'm'));
    const pod = await api.get<Pod>({ kind: 'Pod', namespace: SANDBOXES, name: inside });
    expect(pod.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  });
});

interface Service extends KubeObject {
  readonly spec: { readonly clusterIP: string };
}

/** What a program in the sandbox sees of an address: connected, or why not. */
async function dial(host: string, port: number): Promise<string> {
  const program = `import socket
try:
    socket.create_connection(("${host}", ${port}), ${PATIENCE_SECONDS}).close()
    print("connected")
except OSError as error:
    print(type(error).__name__)`;
  return (await execIn(inside, 'python3', '-c', program)).trim();
}

describe('from inside a sandbox', () => {
  const ipOf = async (part: string): Promise<string> => {
    const [pod] = await api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: `app.kubernetes.io/name=${part}` });
    return pod?.status.podIP ?? '';
  };
  const serviceIp = async (name: string): Promise<string> =>
    (await api.get<Service>({ kind: 'Service', namespace: INSTALL, name })).spec.clusterIP;

  test('this test can tell what is reached', async () => {
    expect(await dial('127.0.0.1', 8080)).toBe('connected');
  });

  test('addresses outside of the installation are not reached, though others reach them', async () => {
    const stranger = await clientPod(STRANGER);
    for (const [host, port] of OUTSIDE) {
      expect([host, port, await stranger.run({ do: 'connect', host, port })]).toEqual([host, port, { is: 'connected' }]);
      expect([host, port, await dial(host, port)]).not.toEqual([host, port, 'connected']);
    }
  });

  test('neither registry, servers and operator, nor other sandboxes are reached', async () => {
    const [, other] = pods;
    const targets: readonly (readonly [string, string, number])[] = [
      ['registry', await ipOf('registry'), 8080],
      ['registry, by its Service', await serviceIp('registry'), 8080],
      ['the sandbox server', await ipOf('sandbox'), 8000],
      ['the sandbox server, by its Service', await serviceIp('sandbox'), 8443],
      ['its metrics', await ipOf('sandbox'), 9090],
      ['fetch', await ipOf('fetch'), 8000],
      ['the operator', await ipOf('operator'), 8000],
      ['the database', await ipOf('postgresql'), 5432],
      ['another sandbox: commands', other?.status.podIP ?? '', 9090],
      ['another sandbox: files', other?.status.podIP ?? '', 8080],
    ];
    const seen = await Promise.all(targets.map(async ([name, host, port]) => [name, host === '' ? 'no address' : await dial(host, port)]));
    expect(seen.filter(([, outcome]) => outcome === 'connected' || outcome === 'no address')).toEqual([]);
  });
});

describe('to a sandbox', () => {
  const runtime = [9090, 8080];
  const at = (pod: Pod | undefined, port: number) => ({ do: 'connect', host: pod?.status.podIP ?? '', port }) as const;
  /** dropped or refused, as the network likes */
  const failed = { is: 'failed' };

  test('the sandbox server comes, at the two ports of its runtime and no others', async () => {
    const server = await impostor({ namespace: INSTALL, part: 'sandbox' });
    try {
      // a policy knows a pod some time after it started
      for (const port of runtime) await eventually(`port ${port}`, async () => (await server.run(at(pods[0], port))).is === 'connected');
      const listening = execIn(inside, 'timeout', '20', 'python3', '-m', 'http.server', '9999').catch(() => 'ended by timeout');
      await eventually('a guest to listen', async () => (await dial('127.0.0.1', 9999)) === 'connected');
      expect(await server.run(at(pods[0], 9999))).toMatchObject(failed);
      await listening;
    } finally {
      await server.remove();
    }
  });

  test('nobody else comes: no client, no other part, no pod elsewhere with the labels of the server', async () => {
    const client = await clientPod(FRIEND);
    const others = await Promise.all([
      impostor({ namespace: STRANGER, part: 'sandbox' }),
      impostor({ namespace: INSTALL, part: 'fetch' }),
      impostor({ namespace: INSTALL, part: 'operator' }),
    ]);
    try {
      for (const pod of [client, ...others]) for (const port of runtime) expect(await pod.run(at(pods[0], port))).toMatchObject(failed);
    } finally {
      await Promise.all(others.map((pod) => pod.remove()));
    }
  });
});
