import { expect, test, type TestAPI } from 'vitest';
import type { TwoRegistries } from '../two-registries.ts';

/** A `test` that also holds both registries to equal answers, whatever its body asks of them. */
export function alike(pair: TwoRegistries): TestAPI<{ both: TwoRegistries }> {
  return test.extend<{ both: TwoRegistries }>({
    // Vitest wants the fixtures that a fixture uses destructured, also when it uses none.
    // oxlint-disable-next-line no-empty-pattern
    both: async ({}, use) => {
      await use(pair);
      expect(pair.differences.splice(0)).toEqual([]);
    },
  });
}
