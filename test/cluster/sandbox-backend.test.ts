import { afterAll, beforeAll } from 'vitest';
import { KubeClient } from '../../lib/kube/client.ts';
import { kubeconfigAccess } from '../../lib/kube/credentials.ts';
import { createLog } from '../../lib/log.ts';
import { KubernetesBackend } from '../../mcp-servers/sandbox/kubernetes/backend.ts';
import { sandboxBackendSuite, suiteLimits, suiteSettings } from '../sandbox/suite.ts';
import { kubeconfig } from './testing/cluster.ts';
import { removePool, tightPool } from './testing/sandboxes.ts';
import { SANDBOXES } from './testing/yard.ts';

const POOL = 'suite';
const placement = { namespace: SANDBOXES, warmpool: POOL };

beforeAll(() => tightPool(POOL, suiteLimits));
afterAll(() => removePool(POOL));

const { memoryBytes, diskBytes, cpus } = suiteLimits;

sandboxBackendSuite(
  async () =>
    new KubernetesBackend(
      { ...suiteSettings, ...placement, maxAgeMs: 3_600_000, maxIdleMs: 600_000 },
      new KubeClient({ access: await kubeconfigAccess({ file: kubeconfig }) }),
      createLog('test', 'silent'),
    ),
  { isolated: true, files: 'workspace', limits: { memoryBytes, diskBytes, cpus }, placement, root: 'image', counted: false },
);
