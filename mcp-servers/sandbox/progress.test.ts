import type { ServerContext } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { reporterFor } from './progress.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

function asking(progressToken?: string): { sent: { progress: number; message: string }[]; reporter: ReturnType<typeof reporterFor> } {
  const sent: { progress: number; message: string }[] = [];
  const mcpReq = {
    _meta: progressToken === undefined ? {} : { progressToken },
    notify: async ({ params }: { params: (typeof sent)[number] }) => void sent.push(params),
  };
  return { sent, reporter: reporterFor({ mcpReq } as unknown as Pick<ServerContext, 'mcpReq'>) };
}

test('a client that asked is told twice a second what was printed since, in the order in which it came', () => {
  const { sent, reporter } = asking('t');
  const [first, second] = [Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1)];
  reporter.onOutput?.('stdout', Buffer.from('one '));
  reporter.onOutput?.('stdout', first);
  reporter.onOutput?.('stderr', Buffer.from('two '));
  vi.advanceTimersByTime(500);
  reporter.onOutput?.('stdout', second);
  vi.advanceTimersByTime(5_000);
  reporter.onOutput?.('stdout', Buffer.from('never told: the result has it'));
  reporter.stop();
  vi.advanceTimersByTime(5_000);
  expect(sent).toEqual([
    { progressToken: 't', progress: 9, message: 'one two ' },
    { progressToken: 't', progress: 10, message: 'ä' },
  ]);
});

test('of much that is printed between two messages the end is told', () => {
  const { sent, reporter } = asking('t');
  for (let n = 0; n < 1_000; n += 1) reporter.onOutput?.('stdout', Buffer.from('x'.repeat(99) + (n % 10)));
  vi.advanceTimersByTime(500);
  reporter.stop();
  expect(sent).toEqual([{ progressToken: 't', progress: 100_000, message: expect.stringMatching(/^…x.{3998}9$/) }]);
});

test('a client that did not ask is told nothing', () => {
  expect(asking().reporter.onOutput).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});
