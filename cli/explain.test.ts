import { expect, test } from 'vitest';
import type { Condition, DeclarationStatus } from '../operator/records/status.ts';
import { explanation } from './explain.ts';

function condition(type: Condition['type'], status: Condition['status'], message: string): Condition {
  return { type, status, reason: 'R', message, lastTransitionTime: '2026-11-30T10:00:00Z' };
}

const accepted = condition('Accepted', 'True', 'server.json is valid');
const base = { source: 'catalog/weather/server.json', name: 'org.example/weather', version: '1.0.0' } as const;

function next(one: DeclarationStatus): string | undefined {
  return explanation(one).at(-1);
}

test('a published record is explained with its server, its record and its tools, and asks for nothing', () => {
  const lines = explanation({
    ...base,
    state: 'Published',
    endpoint: 'http://127.0.0.1:9000/mcp',
    conditions: [accepted, condition('Reachable', 'True', 'it speaks MCP'), condition('Published', 'True', 'shown as declared')],
    tools: { count: 2, digest: 'x', names: ['a', 'b'] },
  });
  expect(lines).toEqual([
    'Declared in catalog/weather/server.json: server.json is valid',
    'Server: http://127.0.0.1:9000/mcp: it speaks MCP, since 2026-11-30T10:00:00Z',
    'Registry: shown as declared, since 2026-11-30T10:00:00Z',
    'Tools: a, b',
    'Next: nothing',
  ]);
});

test('faults are listed, and the next step is to correct the file', () => {
  const broken: DeclarationStatus = {
    ...base,
    state: 'Refused',
    conditions: [condition('Accepted', 'False', 'two faults')],
    faults: [
      { path: 'name', message: 'too short' },
      { path: '', message: 'it is empty' },
    ],
  };
  expect(explanation(broken).slice(0, 3)).toEqual([
    'Declared in catalog/weather/server.json, which cannot be used:',
    '  name: too short',
    '  it is empty',
  ]);
  expect(next(broken)).toContain('correct catalog/weather/server.json');
});

test('a refusal without faults is told in its own words', () => {
  const taken: DeclarationStatus = {
    ...base,
    state: 'Refused',
    conditions: [condition('Accepted', 'False', 'somebody else has the name')],
  };
  expect(explanation(taken)[0]).toBe('Declared in catalog/weather/server.json, which cannot be used: somebody else has the name');
});

test('a server that does not answer is to be started, and it is said when it is asked again', () => {
  const conditions = [accepted, condition('Reachable', 'False', 'nobody listens'), condition('Published', 'False', 'waits')];
  const pending: DeclarationStatus = {
    ...base,
    state: 'Pending',
    endpoint: 'http://127.0.0.1:9/mcp',
    conditions,
    nextProbeAt: '2026-11-30T10:00:07Z',
  };
  expect(next(pending)).toBe(
    'Next: start the server at http://127.0.0.1:9/mcp, or correct its address; it is asked again at 2026-11-30T10:00:07Z',
  );
});

test('every state has a next step', () => {
  for (const state of ['Published', 'Deprecated', 'Pending', 'Refused', 'Withdrawing'] as const) {
    expect(next({ ...base, state, conditions: [accepted] })).toMatch(/^Next: \S+/);
  }
});
