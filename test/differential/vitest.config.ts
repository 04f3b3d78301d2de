import { defineConfig } from 'vitest/config';

/** Against the official registry, which takes Go and PostgreSQL, so not part of the normal run: `make test-differential`. */
export default defineConfig({
  test: {
    name: 'differential',
    include: ['test/differential/**/*.test.ts'],
    globalSetup: ['test/differential/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 30_000,
    fileParallelism: false,
  },
});
