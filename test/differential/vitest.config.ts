import { defineConfig } from 'vitest/config';

/** Against a running official registry, so not part of the normal run: `npx vitest run --config test/differential/vitest.config.ts`. */
export default defineConfig({
  test: { include: ['test/differential/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 30_000, fileParallelism: false },
});
