import { expect, test } from 'vitest';
import { amountOf, templateFacts, templateSchema } from './template.ts';

const pod = {
  runtimeClassName: 'gvisor',
  automountServiceAccountToken: false,
  containers: [
    {
      image: 'x',
      resources: { limits: { memory: '512Mi', cpu: '250m' } },
      securityContext: { runAsNonRoot: true },
      volumeMounts: [{ name: 'work', mountPath: '/workspace' }],
    },
  ],
  volumes: [{ name: 'work', emptyDir: { sizeLimit: '128Mi' } }],
};
const facts = (change: object = {}, spec: object = { networkPolicy: { egress: [] } }) =>
  templateFacts(templateSchema.parse({ spec: { podTemplate: { spec: { ...pod, ...change } }, ...spec } }));
const holds = (found: ReturnType<typeof facts>) => Object.fromEntries(found.guarantees.map(({ what, holds }) => [what, holds]));

test('a template tells isolation, limits and what holds', () => {
  expect(facts()).toMatchObject({ isolation: 'gvisor', memoryBytes: 512 * 1024 * 1024, diskBytes: 128 * 1024 * 1024, cpus: 0.25 });
  expect(Object.values(holds(facts()))).toEqual([true, true, true, true, true, true]);
});

test('what a template does not say is not claimed', () => {
  const bare = facts({ runtimeClassName: undefined, automountServiceAccountToken: true, containers: [{}], volumes: undefined }, {});
  expect(bare).not.toHaveProperty('memoryBytes');
  expect(bare.isolation).toBe('container');
  expect(Object.values(holds(bare))).toEqual([false, false, false, false, false, false]);
});

test.each([
  ['policies left to the namespace', { networkPolicyManagement: 'Unmanaged' }],
  ['some egress', { networkPolicy: { egress: [{}] } }],
])('%s is no promise about the network', (_what, spec) => {
  expect(holds(facts({}, spec))['network']).toBe(false);
});

test('quantities are read as Kubernetes writes them', () => {
  expect(['1', '0.5', '250m', '1Ki', '2Gi', '1k', '', 'x', '1Zi'].map(amountOf)).toEqual([
    1,
    0.5,
    0.25,
    1024,
    2 * 2 ** 30,
    1000,
    undefined,
    undefined,
    undefined,
  ]);
  expect(amountOf(undefined)).toBeUndefined();
});
