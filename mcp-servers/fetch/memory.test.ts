import { expect, test } from 'vitest';
import { BodyMemory } from './memory.ts';

const MIB = 1024 * 1024;
const url = new URL('https://example.org/large');

test('large pages together get no more than there is, and give it back', () => {
  const memory = new BodyMemory(10 * MIB);
  const first = memory.open(url);
  const second = memory.open(url);
  first.reserve(7 * MIB);
  second.reserve(5 * MIB);
  expect(() => second.reserve(1)).toThrow('this server is reading too many large pages already; try again');
  first.close();
  second.reserve(6 * MIB);
  second.close();
  memory.open(url).reserve(11 * MIB);
});

test('small pages are read however many large ones there are', () => {
  const memory = new BodyMemory(10 * MIB);
  memory.open(url).reserve(11 * MIB);
  const small = memory.open(url);
  small.reserve(MIB / 2);
  small.reserve(MIB / 2);
  expect(() => small.reserve(1)).toThrow(expect.objectContaining({ code: 'busy' }) as Error);
});
