import { defineConfig } from 'vitest/config';

/** Against a real Kubernetes on this machine, so not part of the normal run: `make test-cluster`. One file after the other: there is one cluster. */
export default defineConfig({
  test: {
    name: 'cluster',
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/cluster/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
