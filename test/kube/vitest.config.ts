import { defineConfig } from 'vitest/config';

/** Against a real API server, which takes Go and etcd, so not part of the normal run: `make test-kube`. */
export default defineConfig({
  test: {
    name: 'kube',
    include: ['test/kube/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
