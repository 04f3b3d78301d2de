import { expect, test } from 'vitest';
import { readDeclaration } from './declaration.ts';
import { describe as describeSubject, type Subject } from './describe.ts';
import type { Claim } from './ownership.ts';
import type { Step } from './plan.ts';
import type { PublishedRecord } from './record.ts';
import { answersVerdict, raw, refusedVerdict, serverJson, urlOf } from './testing/world.ts';

const NAME = 'com.example/weather';
const rules = { install: 'toolyard', publishEndpoint: false, endpoints: {} };
const declaration = readDeclaration(raw('a/x', serverJson(NAME, '1.0.0')), rules) as Claim;
const document = declaration.wish.document;
const target = { is: 'address', url: urlOf('main'), transport: 'streamable-http', headers: {}, namespace: 'a' } as const;
const active: PublishedRecord = { name: NAME, version: '1.0.0', document, status: 'active', isLatest: true, publishedAt: 0 };
const base: Step = {
  name: NAME,
  version: '1.0.0',
  source: 'a/x',
  claim: declaration,
  target,
  reach: { is: 'answers', verdict: answersVerdict },
  action: { do: 'nothing' },
};
const leftOver: Step = {
  name: NAME,
  version: '0.9.0',
  source: 'a/x',
  record: { ...active, version: '0.9.0' },
  action: { do: 'wait', for: 'successor' },
};
const refused = { is: 'doubtful', failure: refusedVerdict } as const;

/** State, and the three answers with their words. */
function told(steps: readonly Step[], fields: Partial<Subject> = {}): Record<string, string> {
  const subject = {
    source: 'a/x',
    declaration,
    steps,
    tentative: false,
    setback: undefined,
    nextProbeAt: undefined,
    publishEndpoint: false,
  };
  const description = describeSubject({ ...subject, ...fields });
  const conditions = (description?.conditions ?? []).map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]);
  return { state: description?.state ?? 'none', ...(Object.fromEntries(conditions) as Record<string, string>) };
}

test('a published record', () => {
  expect(told([{ ...base, record: active }])).toEqual({
    state: 'Published',
    Accepted: 'True Valid: server.json is valid, and its name is free for it',
    Reachable: 'True Answers: its server speaks MCP 2026-07-28 and lists 1 tool',
    Published: 'True Published: the registry shows it as declared',
  });
});

test('a record whose server asks for credentials is published, and unknown', () => {
  const reach = { is: 'answers', verdict: { is: 'auth-required', status: 401 } } as const;
  expect(told([{ ...base, record: active, reach }])).toMatchObject({
    state: 'Published',
    Reachable: expect.stringMatching(/^Unknown AuthRequired: .*probe-auth/) as string,
  });
});

test('a record that waits for its server says what it is waiting for', () => {
  expect(told([{ ...base, reach: refused, action: { do: 'wait', for: 'answer' } }])).toMatchObject({
    state: 'Pending',
    Reachable: expect.stringMatching(/^False ConnectionRefused: nothing listens/) as string,
    Published: 'False Pending: it is published as soon as its server answers; so far nothing listens at its address',
  });
});

test('a failure that may pass changes nothing that is shown', () => {
  const doubtful = { is: 'doubtful', failure: refusedVerdict, good: answersVerdict } as const;
  expect(told([{ ...base, record: active, reach: doubtful }])).toEqual(told([{ ...base, record: active }]));
});

test('a deprecated record says why, and what ends that', () => {
  const record = { ...active, status: 'deprecated', statusMessage: 'toolyard: nothing listens' } as const;
  expect(told([{ ...base, record, reach: { is: 'silent', failure: refusedVerdict } }])).toMatchObject({
    state: 'Deprecated',
    Published:
      'True Deprecated: the registry shows it as deprecated (toolyard: nothing listens); the first answer of its server makes it active again',
  });
});

test('a new version whose server is not up says which one the registry keeps', () => {
  const waiting: Step = { ...base, reach: refused, action: { do: 'wait', for: 'answer' } };
  expect(told([waiting, leftOver]).Published).toContain('until then the registry keeps 0.9.0');
});

test('a broken file says what the registry keeps', () => {
  const broken = readDeclaration(raw('a/x', { name: NAME }), rules);
  const steps: Step[] = [{ ...leftOver, action: { do: 'wait', for: 'repair' } }];
  expect(told(steps, { declaration: broken })).toMatchObject({
    state: 'Refused',
    Accepted: expect.stringMatching(/^False InvalidRecord: /) as string,
    Published: 'False NotAccepted: the registry keeps the last good record: com.example/weather 0.9.0',
  });
  expect(told([], { declaration: broken }).Published).toBe('False NotAccepted: nothing is published');
});

test('a refused declaration says why in both places', () => {
  const refuse: Step = { ...base, action: { do: 'refuse', reason: 'NameTaken', message: 'it is declared by b/x' } };
  expect(told([refuse])).toMatchObject({
    state: 'Refused',
    Accepted: 'False NameTaken: it is declared by b/x',
    Published: 'False NameTaken: it is declared by b/x',
  });
});

test('what the registry refuses is told in its words, what waits for it as waiting', () => {
  const publish: Step = { ...base, action: { do: 'publish', document } };
  const setback = { reason: 'RegistryRefused', message: 'the registry refuses it: no' } as const;
  expect(told([publish], { setback })).toMatchObject({ state: 'Refused', Published: 'False RegistryRefused: the registry refuses it: no' });
  const down = { reason: 'RegistryDown', message: 'later' } as const;
  expect(told([publish], { setback: down })).toMatchObject({ state: 'Pending', Published: 'False RegistryDown: later' });
});

test('a vanished declaration is being withdrawn, and says until when it can come back', () => {
  const steps: Step[] = [{ ...leftOver, action: { do: 'wait', for: 'return' }, until: 0 }];
  expect(told(steps, { declaration: undefined })).toMatchObject({
    state: 'Withdrawing',
    Published: 'False NotAccepted: com.example/weather 0.9.0 is withdrawn at 1970-01-01T00:00:00.000Z unless it is declared again',
  });
  expect(told([], { declaration: undefined }).state).toBe('none');
});

test.each([
  ['deprecate', 'is deprecated at'],
  ['keep', 'stays in the registry, and nobody looks after it from'],
] as const)('a vanished declaration with on-delete: %s says what really becomes of its record', (onDelete, words) => {
  const record: PublishedRecord = { ...active, version: '0.9.0', stamp: { install: 'toolyard', source: 'a/x', onDelete } };
  const steps: Step[] = [{ ...leftOver, record, action: { do: 'wait', for: 'return' }, until: 0 }];
  expect(told(steps, { declaration: undefined }).Published).toContain(`com.example/weather 0.9.0 ${words} 1970-01-01T00:00:00.000Z`);
});

test('before the registry was read nobody knows who has the name', () => {
  expect(told([base], { tentative: true }).Accepted).toMatch(/^Unknown RegistryUnread/);
});

test('an endpoint that is not what is advertised says so', () => {
  const split = readDeclaration(raw('a/x', serverJson(NAME, '1.0.0'), { endpoint: 'http://inside.example/mcp' }), rules);
  expect(told([{ ...base, record: active }], { declaration: split }).Advertised).toMatch(/^Unknown Unverified/);
  expect(told([{ ...base, record: active }], { declaration: split, publishEndpoint: true }).Advertised).toBeUndefined();
});
