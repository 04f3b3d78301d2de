import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apply, kubectl } from './testing/cluster.ts';
import { declare, INSTALL, latest, program, reason, recordOf, serverEnv, TEAM_A, undeclare } from './testing/yard.ts';

beforeAll(async () => {
  const service = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: TEAM_A }, spec });
  await apply(
    service('elsewhere', { type: 'ExternalName', externalName: 'registry.toolyard.svc.cluster.local' }),
    service('unselected', { ports: [{ port: 8000 }] }),
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'unselected', namespace: TEAM_A },
      subsets: [{ addresses: [{ ip: '10.200.0.1' }], ports: [{ port: 8000 }] }],
    },
  );
});
afterAll(async () => {
  await kubectl('-n', TEAM_A, 'delete', 'service', 'elsewhere', 'unselected');
});

describe('a declaration cannot make the operator dial', () => {
  test.each([
    ['the API server', 'https://kubernetes.default.svc/mcp'],
    ["the API server's address", 'https://10.96.0.1/mcp'],
    ['the node', 'http://10.200.0.1:10250/mcp'],
    ['this machine', 'http://127.0.0.1:8000/mcp'],
    ["a cloud's metadata", 'http://169.254.169.254/mcp'],
    ['a Service of another namespace', `http://registry.${INSTALL}.svc:8080/mcp`],
    ['an ExternalName Service', `http://elsewhere.${TEAM_A}.svc:8080/mcp`],
    ['a Service without a selector', `http://unselected.${TEAM_A}.svc:8000/mcp`],
    ['a public name with an address of the cluster', 'https://api.test/mcp'],
  ])('%s', async (_, endpoint) => {
    const name = `dials-${endpoint.replaceAll(/[^a-z0-9]+/g, '-')}`.slice(0, 50).replace(/-$/, '');
    await declare({ name, settings: { endpoint } });
    const message = await reason({ name }, 'Reachable', 'AddressRefused');
    expect(message).toMatch(/does not dial/);
    expect(await latest(recordOf(name))).toBeUndefined();
    await undeclare({ name });
  });
});

describe('credentials for a probe', () => {
  const TOKEN = 'token-of-the-team';
  const secret = (name: string, labels: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: TEAM_A, labels },
    stringData: { authorization: `Bearer ${TOKEN}`, origin: `http://guarded.${TEAM_A}.svc:8000` },
  });
  const readable = (name: string) => [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name, namespace: TEAM_A },
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: [name], verbs: ['get'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace: TEAM_A },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: INSTALL }],
    },
  ];
  const reachable = async (name: string, wanted: string, auth: string) => {
    await declare({ name, settings: { endpoint: `http://guarded.${TEAM_A}.svc:8000/mcp`, 'probe-auth': auth } });
    return reason({ name }, 'Reachable', wanted);
  };

  beforeAll(async () => {
    const tokens = JSON.stringify({ operator: createHash('sha256').update(TOKEN).digest('hex') });
    const env = { ...serverEnv(`guarded.${TEAM_A}.svc`), AUTH: 'tokens', AUTH_TOKENS_FILE: '/files/tokens.json' };
    await apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'guarded', namespace: TEAM_A }, data: { 'tokens.json': tokens } },
      ...program({ name: 'guarded', namespace: TEAM_A, args: ['server.mjs'], env, files: 'guarded' }),
      secret('agrees', { 'toolyard.dev/probe-auth': 'true' }),
      ...readable('agrees'),
      secret('did-not-agree', {}),
      ...readable('did-not-agree'),
      secret('unreadable', { 'toolyard.dev/probe-auth': 'true' }),
    );
    await kubectl('-n', TEAM_A, 'rollout', 'status', 'deployment/guarded', '--timeout=120s');
  });

  test('are sent when their Secret agrees and may be read', async () => {
    expect(await reachable('guarded-agrees', 'Answers', 'agrees')).toContain('1 tool');
  });

  test('are not sent when their Secret did not agree', async () => {
    expect(await reachable('guarded-did-not-agree', 'AuthRequired', 'did-not-agree')).toContain('lacks the label');
  });

  test('are not read without a right of that one name', async () => {
    expect(await reachable('guarded-unreadable', 'AuthRequired', 'unreadable')).toContain('may not read');
  });
});
