import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StatusFile } from './status-file.ts';
import { eventsBetween, MAX_STATUS_BYTES, withTimes, type DeclarationStatus, type Description, type OperatorView } from './status.ts';

const [early, late] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'];

function description(fields: Partial<Description> = {}): Description {
  const conditions = [{ type: 'Accepted', status: 'True', reason: 'Valid', message: 'fine' }] as const;
  return {
    source: 'catalog/x/server.json',
    name: 'com.example/x',
    version: '1.0.0',
    state: 'Published',
    provisional: false,
    conditions,
    ...fields,
  };
}

function conditionsOf(status: 'True' | 'False', reason: string, message = 'x'): Pick<Description, 'conditions'> {
  return { conditions: [{ type: 'Accepted', status, reason, message }] };
}

describe('times', () => {
  const before = withTimes(description(), undefined, early);

  test('a condition keeps the time of its last transition until its status changes', () => {
    expect(withTimes(description(conditionsOf('True', 'Other')), before, late).conditions[0]?.lastTransitionTime).toBe(early);
    expect(withTimes(description(conditionsOf('False', 'Invalid')), before, late).conditions[0]?.lastTransitionTime).toBe(late);
  });

  test('the same description gives the same status', () => {
    expect(withTimes(description(), before, late)).toEqual(before);
  });
});

describe('size', () => {
  test('a name and a version of a megabyte, as a faulty declaration may have, fit too', () => {
    const long = '\u20ac'.repeat(1_000_000);
    const status = withTimes(description({ name: long, version: long, faults: [{ path: long, message: long }] }), undefined, early);
    expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  });

  const bytes = (status: DeclarationStatus) => Buffer.byteLength(JSON.stringify(status));

  test('a thousand tools are counted, and named as far as they fit', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `a_tool_with_a_longish_name_${index}`);
    const status = withTimes(description({ tools: { count: 1000, digest: 'sha256:0', names } }), undefined, early);
    expect(bytes(status)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
    expect(status.tools?.count).toBe(1000);
    expect(status.tools?.names.length).toBeGreaterThan(100);
  });

  test('so are a thousand faults, each as long as a document', () => {
    const faults = Array.from({ length: 1000 }, (_, index) => ({ path: `p[${index}]`, message: 'é'.repeat(10_000) }));
    const status = withTimes(description({ faults, ...conditionsOf('False', 'InvalidRecord', '𝄞'.repeat(10_000)) }), undefined, early);
    expect(bytes(status)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
    expect(status.faults?.length).toBeGreaterThan(1);
    expect(status.conditions[0]?.message.isWellFormed()).toBe(true);
  });
});

describe('events', () => {
  const good = withTimes(description(), undefined, early);

  test('a status that is repeated tells nothing, whatever its message', () => {
    expect(eventsBetween(good, withTimes(description(conditionsOf('True', 'Valid', 'other words')), good, late))).toEqual([]);
  });

  test('a change is told once, with every fault, in at most 1,000 characters', () => {
    const faults = Array.from({ length: 3 }, (_, index) => ({ path: `p[${index}]`, message: 'x'.repeat(450) }));
    const bad = withTimes(description({ ...conditionsOf('False', 'InvalidRecord'), faults }), good, late);
    const [event, ...others] = eventsBetween(good, bad);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type: 'Warning', reason: 'InvalidRecord', name: 'com.example/x' });
    expect(event?.message).toContain('p[2]: ');
    expect(event?.message.length).toBeLessThanOrEqual(1000);
  });
});

describe('the status file', () => {
  let root: string;
  let path: string;
  const view: OperatorView = {
    version: 1,
    install: 'toolyard',
    updatedAt: early,
    registry: { url: 'http://127.0.0.1:8080', state: 'up', since: early },
    declarations: [],
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'toolyard-status-'));
    path = join(root, 'state', 'status.json');
  });

  afterEach(async () => {
    await rm(root, { recursive: true });
  });

  test('is written when something changed, and not because time passed', async () => {
    const file = new StatusFile(path);
    await file.write(view);
    await file.write({ ...view, updatedAt: late });
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(view);
    await file.write({ ...view, updatedAt: late, install: 'other' });
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ install: 'other', updatedAt: late });
  });

  test('ends with the last of many, whole, and leaves nothing beside it', async () => {
    const file = new StatusFile(path);
    const installs = Array.from({ length: 50 }, (_, index) => `i${index}`);
    await Promise.all(installs.map((install) => file.write({ ...view, install })));
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ install: 'i49' });
    expect(await readdir(join(root, 'state'))).toEqual(['status.json']);
  });

  test('tells the next operator what this one knew, and nothing when it is not one of these files', async () => {
    await new StatusFile(path).write(view);
    expect(await new StatusFile(path).read()).toEqual(view);
    expect(await new StatusFile(join(root, 'absent')).read()).toBeUndefined();
  });
});
