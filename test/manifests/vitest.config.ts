import { defineConfig } from 'vitest/config';

/** Against Helm, kubectl, PostgreSQL and an API server, which takes Go and Debian's packages: `make test-manifests`. */
export default defineConfig({
  test: {
    name: 'manifests',
    include: ['test/manifests/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
