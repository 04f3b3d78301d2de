import { expect, test } from 'vitest';
import { entryPoint } from './entry-point.ts';

test('an entry point is a source beside sources and a bundle beside bundles', () => {
  expect(entryPoint('./worker.ts', 'fetch-worker', 'file:///src/convert/converter.ts').href).toBe('file:///src/convert/worker.ts');
  expect(entryPoint('./worker.ts', 'fetch-worker', 'file:///app/fetch.mjs').href).toBe('file:///app/fetch-worker.mjs');
});
