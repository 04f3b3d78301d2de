import { defineConfig } from 'vitest/config';

/** Against the official registry and the fetch server that ours replace, which take Go, PostgreSQL and Python, so not part of the normal run: `make test-differential`. */
export default defineConfig({
  test: {
    fileParallelism: false,
    projects: [
      {
        test: {
          name: 'registry',
          include: ['test/differential/*.test.ts'],
          globalSetup: ['test/differential/global-setup.ts'],
          // the tests' properties draw that many times more, see drawing.ts
          testTimeout: 300_000 * Number(process.env['TIMES'] || 1),
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'fetch',
          include: ['test/differential/fetch/*.test.ts'],
          testTimeout: 180_000,
          // the first time it is installed
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
