import { describe, expect, test } from 'vitest';
import type { DeclarationStatus } from '../../operator/records/status.ts';
import { isSettled, type StackModel } from '../stack/model.ts';
import type { PartState } from '../stack/part-state.ts';
import { plain } from '../terminal.ts';
import { connectLines, overview, partLines, standing } from './picture.ts';

const ready: PartState = { is: 'ready', tookMs: 412 };
const published: DeclarationStatus = {
  source: 'catalog/fetch/server.json',
  name: 'dev.toolyard/fetch',
  version: '0.1.0',
  state: 'Published',
  endpoint: 'http://127.0.0.1:8001/mcp',
  conditions: [{ type: 'Published', status: 'True', reason: 'Published', message: '', lastTransitionTime: '' }],
  tools: { count: 1, digest: 'x', names: ['fetch'] },
};

function model(change: { parts?: Partial<StackModel['parts']>; declarations?: DeclarationStatus[]; ready?: boolean } = {}): StackModel {
  const registry = { url: 'http://127.0.0.1:8080', state: 'up', since: '' } as const;
  const declarations = change.declarations ?? [published];
  return {
    urls: { registry: 'http://127.0.0.1:8080', fetch: 'http://127.0.0.1:8001', sandbox: 'http://127.0.0.1:8002' },
    parts: { registry: ready, fetch: ready, sandbox: ready, ...change.parts },
    operator: {
      is: 'running',
      ready: change.ready ?? true,
      view: { version: 1, install: 'toolyard', updatedAt: '', registry, declarations },
    },
  };
}

const pending = (status: 'Unknown' | 'False'): DeclarationStatus => ({
  ...published,
  state: 'Pending',
  conditions: [{ type: 'Reachable', status, reason: '', message: 'nobody listens', lastTransitionTime: '' }],
});

describe('the stack is settled', () => {
  test('when every part had its say and every declaration its first answer, good or bad', () => {
    expect(isSettled(model())).toBe(true);
    expect(isSettled(model({ parts: { sandbox: { is: 'unready', reason: 'install bubblewrap' } } }))).toBe(true);
    expect(isSettled(model({ declarations: [published, pending('False')] }))).toBe(true);
  });

  test('not while a part starts, an answer is out, or the registry was not read', () => {
    expect(isSettled(model({ parts: { fetch: { is: 'starting' } } }))).toBe(false);
    expect(isSettled(model({ parts: { fetch: { is: 'restarting', why: '', delayMs: 1 } } }))).toBe(false);
    expect(isSettled(model({ declarations: [pending('Unknown')] }))).toBe(false);
    expect(isSettled(model({ ready: false }))).toBe(false);
    expect(isSettled({ ...model(), operator: { is: 'waiting' } })).toBe(false);
  });
});

test('while starting, each part has a line with its address and how far it is', () => {
  const lines = partLines(model({ parts: { fetch: { is: 'starting' } } }), 1_500, plain);
  expect(lines).toEqual([
    '✔ registry  http://127.0.0.1:8080      ready in 0.4 s',
    '… fetch     http://127.0.0.1:8001/mcp  starts, 1.5 s',
    '✔ sandbox   http://127.0.0.1:8002/mcp  ready in 0.4 s',
    '✔ operator                             keeps 1 declaration',
  ]);
});

describe('the summary', () => {
  const isolation = { name: 'bubblewrap', gaps: ['memory: counted per process here'] };

  test('names servers, tools, isolation with its gaps, and the lines that connect clients', () => {
    const text = [...overview(model(), isolation, plain), ...connectLines(model(), plain)].join('\n');
    expect(text).toMatch(/dev\.toolyard\/fetch +0\.1\.0 +Published +1 +http:\/\/127\.0\.0\.1:8001\/mcp/);
    expect(text).toContain('Tools\n  fetch  fetch\n');
    expect(text).toContain('Sandboxes are isolated by bubblewrap');
    expect(text).toContain('memory: counted per process here');
    expect(text).toContain('claude mcp add --transport http fetch http://127.0.0.1:8001/mcp');
    expect(text).toContain('"chat.mcp.gallery.serviceUrl": "http://127.0.0.1:8080"');
  });

  test('says what to install where nothing can isolate a sandbox', () => {
    const parts = { sandbox: { is: 'unready', reason: 'install bubblewrap' } } as const;
    expect(overview(model({ parts }), undefined, plain).join('\n')).toContain('not ready: install bubblewrap');
  });

  test('offers no connection to what is not published', () => {
    expect(connectLines(model({ declarations: [pending('False')] }), plain)).toEqual([]);
  });
});

test('the line at the bottom counts states, and counts down to a withdrawal', () => {
  const leaving: DeclarationStatus = {
    ...published,
    name: 'org.example/weather',
    state: 'Withdrawing',
    withdrawAt: '2026-11-30T10:00:12.400Z',
  };
  const line = (one: DeclarationStatus) => standing(model({ declarations: [published, one] }), Date.parse('2026-11-30T10:00:00Z'), plain);
  expect(line(leaving)).toBe('1 published · 1 withdrawing · org.example/weather 0.1.0 is withdrawn in 13 s · Ctrl-C stops');
  expect(line({ ...leaving, onDelete: 'deprecate' })).toContain('org.example/weather 0.1.0 is deprecated in 13 s');
  expect(line({ ...leaving, onDelete: 'keep' })).toBe('1 published · 1 withdrawing · Ctrl-C stops');
});
