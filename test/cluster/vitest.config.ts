import { defineConfig } from 'vitest/config';

const sandboxes = 'test/cluster/{claims,sandbox*}.test.ts';
const aboutSandboxes = process.env['SANDBOXES'] === 'true';

/**
 * Against a real Kubernetes on this machine, so not part of the normal run: `make test-cluster`, and `make test-cluster-sandboxes` for what is
 * about sandboxes. One file after the other: there is one cluster.
 */
export default defineConfig({
  test: {
    name: 'cluster',
    include: [aboutSandboxes ? sandboxes : 'test/cluster/**/*.test.ts'],
    exclude: aboutSandboxes ? [] : [sandboxes],
    globalSetup: ['test/cluster/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
