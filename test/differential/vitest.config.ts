import { defineConfig } from 'vitest/config';

/** Against the official registry, which takes Go and PostgreSQL, so not part of the normal run: `make test-differential`. */
export default defineConfig({
  test: {
    name: 'differential',
    include: ['test/differential/**/*.test.ts'],
    globalSetup: ['test/differential/global-setup.ts'],
    // the tests' properties draw that many times more, see drawing.ts
    testTimeout: 300_000 * Number(process.env['TIMES'] || 1),
    hookTimeout: 30_000,
    fileParallelism: false,
  },
});
