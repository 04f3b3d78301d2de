import { describe, expect, test } from 'vitest';
import type { Condition, DeclarationStatus, OperatorView, State } from '../../operator/records/status.ts';
import { happenings, told } from './story.ts';

const source = 'catalog/weather/server.json';

function condition(type: Condition['type'], status: Condition['status'], about: Partial<Condition> = {}): Condition {
  return { type, status, reason: status, message: `${type} is ${status}`, lastTransitionTime: '2026-11-30T10:00:00Z', ...about };
}

function declared(state: State, conditions: readonly Condition[], more: Partial<DeclarationStatus> = {}): DeclarationStatus {
  return { source, name: 'org.example/weather', version: '1.0.0', state, conditions, ...more };
}

function view(...declarations: DeclarationStatus[]): OperatorView {
  const registry = { url: 'http://127.0.0.1:8080', state: 'up', since: '2026-11-30T10:00:00Z' } as const;
  return { version: 1, install: 'toolyard', updatedAt: '2026-11-30T10:00:00Z', registry, declarations };
}

const published = declared('Published', [condition('Published', 'True', { reason: 'Published' })]);
const writing = declared('Pending', [condition('Published', 'False', { reason: 'Publishing' })]);
const tools = { count: 2, digest: 'sha256:1', names: ['a', 'b'] };

describe('what changed is told', () => {
  test('once: the same view again is no news', () => {
    expect(happenings(view(published), view(published))).toEqual([]);
  });

  test('a new record with the number of its tools', () => {
    expect(happenings(view(), view({ ...published, tools }))).toMatchObject([
      { tone: 'good', about: 'org.example/weather 1.0.0', what: 'published, 2 tools' },
    ]);
  });

  test('a new declaration whose server does not answer with the reason, and not again for each failed probe', () => {
    const waiting = (nextProbeAt: string) =>
      declared('Pending', [condition('Reachable', 'False'), condition('Published', 'False', { message: 'so far nobody listens' })], {
        nextProbeAt,
      });
    expect(happenings(view(), view(waiting('1')))).toMatchObject([{ what: 'pending: so far nobody listens' }]);
    expect(happenings(view(waiting('1')), view(waiting('2')))).toEqual([]);
  });

  test('an edit as one thing: nothing while it is being written, one line when it is', () => {
    const before = view({ ...published, digest: 'sha256:old' });
    const during = view({ ...writing, digest: 'sha256:new' });
    expect(happenings(before, during)).toEqual([]);
    expect(happenings(told(before, during), view({ ...published, digest: 'sha256:new' }))).toMatchObject([{ what: 'updated' }]);
  });

  test('an edit that was written before anybody looked', () => {
    const [before, after] = ['sha256:old', 'sha256:new'].map((digest) => view({ ...published, digest }));
    expect(happenings(before, after ?? view())).toMatchObject([{ what: 'updated' }]);
  });

  test('every fault of a broken file with its path, and what the registry keeps', () => {
    const broken = declared(
      'Refused',
      [condition('Accepted', 'False'), condition('Published', 'False', { message: 'the registry keeps the last good record: x 1' })],
      {
        faults: [
          { path: 'description', message: 'expected length <= 100' },
          { path: '', message: 'it is empty' },
        ],
      },
    );
    expect(happenings(view(published), view(broken))).toMatchObject([
      {
        tone: 'bad',
        what: `2 faults in ${source}; the registry keeps the last good record: x 1`,
        details: ['description: expected length <= 100', 'it is empty'],
      },
    ]);
  });

  test('other faults of the same file', () => {
    const broken = (message: string) => declared('Refused', [condition('Accepted', 'False')], { faults: [{ path: 'name', message }] });
    expect(happenings(view(broken('a')), view(broken('b')))).toMatchObject([{ details: ['name: b'] }]);
  });

  test('a refusal without faults in its own words, once', () => {
    const words = { reason: 'NameTaken', message: 'somebody else has the name' };
    const refused = declared('Refused', [condition('Accepted', 'False', words), condition('Published', 'False', words)]);
    expect(happenings(view(), view(refused))).toMatchObject([{ tone: 'bad', what: 'refused: somebody else has the name' }]);
  });

  test('a refusal of the registry in its words', () => {
    const refused = declared('Refused', [condition('Accepted', 'True'), condition('Published', 'False', { message: 'it says no' })]);
    expect(happenings(view(), view(refused))).toMatchObject([{ tone: 'bad', what: 'refused: it says no' }]);
  });

  test('deprecation, and the return of the server', () => {
    const deprecated = declared('Deprecated', [
      condition('Published', 'True', { reason: 'Deprecated', message: 'it shows it as deprecated' }),
    ]);
    expect(happenings(view(published), view(deprecated))).toMatchObject([{ tone: 'warn', what: 'deprecated: it shows it as deprecated' }]);
    expect(happenings(view(deprecated), view(published))).toMatchObject([{ tone: 'good', what: 'active again' }]);
  });

  test('the vanished file, and then the withdrawal', () => {
    const withdrawAt = new Date(2026, 10, 30, 10, 0, 30).toISOString();
    const leaving = declared('Withdrawing', [condition('Published', 'False')], { withdrawAt });
    expect(happenings(view(published), view(leaving))).toMatchObject([
      { tone: 'warn', what: 'its file is gone; it is withdrawn at 10:00:30 unless it comes back' },
    ]);
    expect(happenings(view(leaving), view())).toMatchObject([{ about: 'org.example/weather 1.0.0', what: 'withdrawn from the registry' }]);
  });

  test.each([
    ['deprecate', 'its file is gone; it is deprecated at 10:00:30 unless it comes back', 'deprecated in the registry for good'],
    ['keep', 'its file is gone; the registry keeps its record', 'no longer looked after; the registry keeps its record'],
  ] as const)('the vanished file of a record with on-delete: %s as what it is, no withdrawal', (onDelete, first, last) => {
    const withdrawAt = new Date(2026, 10, 30, 10, 0, 30).toISOString();
    const leaving = declared('Withdrawing', [condition('Published', 'False')], { withdrawAt, onDelete });
    expect(happenings(view(published), view(leaving))).toMatchObject([{ what: first }]);
    expect(happenings(view(leaving), view())).toMatchObject([{ what: last }]);
  });

  test('the vanished file of a record that another file declares as no withdrawal', () => {
    const heir: DeclarationStatus = { ...published, source: 'catalog/weather2/server.json' };
    expect(happenings(view(published, heir), view(heir))).toMatchObject([
      { what: 'its file is gone; catalog/weather2/server.json declares it' },
    ]);
  });

  test('a catalog that cannot be read and then can, but not a file that is just being written', () => {
    const unreadable: OperatorView = { ...view(), source: { message: 'catalog cannot be read (ENOENT)' } };
    expect(happenings(view(), unreadable)).toMatchObject([{ tone: 'bad', about: 'catalog', what: 'catalog cannot be read (ENOENT)' }]);
    expect(happenings(unreadable, view())).toMatchObject([{ tone: 'good', about: 'catalog', what: 'can be read again' }]);
    expect(happenings(view(), { ...view(), source: { message: 'being written: x' } })).toEqual([]);
  });

  test('a registry that goes down and comes back', () => {
    const down: OperatorView = { ...view(), registry: { ...view().registry, state: 'down', message: 'nobody answers' } };
    expect(happenings(view(), down)).toMatchObject([{ tone: 'bad', about: 'registry', what: 'nobody answers' }]);
    expect(happenings(down, view())).toMatchObject([{ tone: 'good', about: 'registry', what: 'answers again' }]);
  });
});
