import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Faults in real processes, under the embedded and the official registry, so not part of the normal run: `make test-faults`. */
export default defineConfig({
  test: {
    name: 'faults',
    include: ['test/faults/**/*.test.ts'],
    testTimeout: 900_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'compiled') },
  },
});
