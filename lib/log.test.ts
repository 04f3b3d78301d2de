import { expect, test } from 'vitest';
import { createLog } from './log.ts';

test('an entry is one line of JSON that says which part wrote it and when, and leaves `name` to those who log names', () => {
  const lines: string[] = [];
  const log = createLog('registry', 'info', { write: (line) => lines.push(line) });
  log.info({ name: 'a.b/c' }, 'published\nand more');
  log.debug('not written');
  expect(lines).toHaveLength(1);
  expect(lines[0]?.match(/"name"/g)).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\n]*\n$/);
  expect(JSON.parse(String(lines[0]))).toEqual({
    level: 30,
    time: expect.any(Number),
    part: 'registry',
    name: 'a.b/c',
    msg: 'published\nand more',
  });
});
