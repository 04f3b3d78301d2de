import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Processes that tests start keep their compiled code here: each starts in two thirds of the time. */
const compiled = join(import.meta.dirname, 'node_modules', '.cache', 'compiled');

const speed = 'test/**/speed.test.ts';

/** `unit`: beside the code, milliseconds each. `system`: real processes, clients and kernels, in test/. `speed`: limits of time, after all others. */
export default defineConfig({
  test: {
    // most of the time is spent waiting for processes: one for each processor leaves none idle, where Vitest keeps one free
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{lib,operator,mcp-servers,cli,bench,cdk8s}/**/*.test.ts'],
          testTimeout: 10_000,
          // these tests leave nothing behind in their process: every file with a process and imports of its own took twice as long
          isolate: false,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{kube,cluster,differential,faults,manifests}/**', speed],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          env: { NODE_COMPILE_CACHE: compiled },
        },
      },
      {
        test: {
          name: 'speed',
          include: [speed],
          testTimeout: 60_000,
          env: { NODE_COMPILE_CACHE: compiled },
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
