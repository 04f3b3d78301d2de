import type { ServerContext } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Progress } from './fetcher.ts';
import { described, reporterFor } from './progress.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

function context(progressToken?: string): { sent: unknown[]; context: Pick<ServerContext, 'mcpReq'> } {
  const sent: unknown[] = [];
  const mcpReq = {
    _meta: progressToken === undefined ? {} : { progressToken },
    notify: async (notification: { params?: unknown }) => {
      sent.push(notification.params);
      return Promise.resolve();
    },
  };
  return { sent, context: { mcpReq } as unknown as Pick<ServerContext, 'mcpReq'> };
}

const receiving = (bytes: number): Progress => ({ stage: 'receiving', host: 'site.test', bytes, total: 4_000 });

test('a client that asked is told once a second what is new, and nothing of a page that is there before', () => {
  const { sent, context: asked } = context('t');
  const { onProgress, stop } = reporterFor(asked);
  onProgress?.({ stage: 'asking', host: 'site.test', bytes: 0 });
  vi.advanceTimersByTime(999);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1);
  for (let bytes = 1_000; bytes <= 3_000; bytes += 1_000) onProgress?.(receiving(bytes));
  vi.advanceTimersByTime(5_000);
  onProgress?.({ stage: 'converting', host: 'site.test', bytes: 4_000 });
  vi.advanceTimersByTime(1_000);
  onProgress?.(receiving(9_000));
  stop();
  vi.advanceTimersByTime(10_000);
  expect(sent).toEqual([
    { progressToken: 't', progress: 0, message: 'waiting for site.test' },
    { progressToken: 't', progress: 3_000, total: 4_001, message: 'received 3000 of 4000 bytes from site.test' },
    { progressToken: 't', progress: 4_001, total: 4_001, message: 'converting 4000 bytes' },
  ]);
});

test('a client that did not ask is told nothing', () => {
  expect(reporterFor(context().context).onProgress).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

describe('progress grows with each message', () => {
  test('also where more comes than was announced, or nothing was', () => {
    const stages: Progress[] = [
      { stage: 'asking', host: 'a', bytes: 0 },
      { stage: 'receiving', host: 'a', bytes: 5, total: 2 },
      { stage: 'receiving', host: 'a', bytes: 6 },
      { stage: 'converting', host: 'a', bytes: 6 },
    ];
    const told = stages.map(described);
    expect(told.map(({ progress }) => progress)).toEqual([0, 5, 6, 7]);
    expect(told.map(({ total }) => total)).toEqual([undefined, 6, undefined, 7]);
  });
});
