import { expect, test } from 'vitest';
import type { Condition } from './claims.ts';
import { explainDelay, type Delay } from './delays.ts';

const said = (reason: string, message: string): Condition => ({ type: 'Ready', status: 'False', reason, message });
const pool = (readyReplicas: number) => ({
  metadata: { name: 'default' },
  spec: { replicas: 3, sandboxTemplateRef: { name: 'default' } },
  status: { readyReplicas },
});
const base: Delay = {
  namespace: 'ns',
  warmpool: 'default',
  ready: said('DependenciesNotReady', 'Pod exists with phase: Pending'),
  pool: pool(0),
  sandbox: undefined,
};
const scheduled = (status: 'True' | 'False', message = '') => ({
  metadata: { name: 'default-x' },
  status: {
    nodeName: 'node-1',
    conditions: [{ type: 'PodScheduled', status, reason: status === 'True' ? 'PodScheduled' : 'Unschedulable', message }],
  },
});

test.each([
  [
    'RuntimeClass missing',
    { ready: said('ReconcilerError', 'Error seen: pods "x" is forbidden: pod rejected: RuntimeClass "gvisor" not found') },
    'not-ready',
    'no RuntimeClass gvisor: create it',
  ],
  [
    'quota full',
    { ready: said('ReconcilerError', 'Error seen: pods "x" is forbidden: exceeded quota: sandboxes, requested: pods=1') },
    'quota',
    'ResourceQuota sandboxes of namespace ns is used up',
  ],
  [
    'pod security',
    { ready: said('ReconcilerError', 'Error seen: violates PodSecurity "restricted:latest"') },
    'not-ready',
    'adapt the template',
  ],
  ['pool empty', {}, 'start-timeout', 'warm pool default is empty (0 of 3 ready)'],
  ['pool with members', { pool: pool(2) }, 'start-timeout', '2 of 3 ready'],
  [
    'no room',
    { sandbox: scheduled('False', '0/1 nodes are available') },
    'start-timeout',
    'finds no node (Unschedulable: 0/1 nodes are available)',
  ],
  ['image missing', { sandbox: scheduled('True') }, 'start-timeout', 'kubectl -n ns describe pod default-x'],
  ['nothing readable', { pool: undefined, ready: undefined }, 'start-timeout', 'nothing is known'],
] as const)('%s has a sentence of its own, with what to do', (_what, change, code, words) => {
  expect(explainDelay({ ...base, ...change })).toMatchObject({ code, why: expect.stringContaining(words) as string });
});
