import { defineConfig } from 'vitest/config';

/** `unit`: beside the code, milliseconds each. `system`: real processes, clients and kernels, in test/. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{lib,operator,mcp-servers,cli,bench}/**/*.test.ts'],
          testTimeout: 10_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{cluster,differential}/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
