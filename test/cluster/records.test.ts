import { beforeAll, describe, expect, test } from 'vitest';
import { api, eventually } from './testing/cluster.ts';
import {
  at,
  clear,
  conditionsOf,
  declaration,
  declare,
  eventsOf,
  gone,
  published,
  reason,
  recordOf,
  registry,
  statusOf,
  TEAM_B,
  undeclare,
} from './testing/yard.ts';

beforeAll(clear);

describe('a declaration', () => {
  test('is published once its server answered, and says so in status, label and one Event', async () => {
    await declare({ name: 'created' });
    const { server } = await published(recordOf('created'));
    expect(server.version).toBe('1.0.0');
    await reason({ name: 'created' }, 'Published', 'Published');
    expect(await conditionsOf({ name: 'created' })).toMatchObject({
      Accepted: { status: 'True', reason: 'Valid' },
      Reachable: { status: 'True', reason: 'Answers' },
      Advertised: { status: 'Unknown', reason: 'Unverified' },
      Published: { status: 'True', reason: 'Published' },
    });
    const { metadata } = await api.get(at({ name: 'created' }));
    expect(metadata.labels?.['toolyard.dev/state']).toBe('Published');
    const events = await eventually('an Event', async () => {
      const found = await eventsOf({ name: 'created' });
      return found.some(({ reason }) => reason === 'Published') && found;
    });
    expect(events.filter(({ reason }) => reason === 'Published')).toHaveLength(1);
  });

  test('that is edited is edited in the registry', async () => {
    await declare({ name: 'edited' });
    await published(recordOf('edited'));
    await declare({ name: 'edited', description: 'Says more' });
    await published(recordOf('edited'), ({ server }) => server.description === 'Says more');
    expect(await (await registry()).versions(recordOf('edited'))).toHaveLength(1);
  });

  test('that loses its label is withdrawn, and published again when it gets it back', async () => {
    await declare({ name: 'relabelled' });
    await published(recordOf('relabelled'));
    await api.patch(at({ name: 'relabelled' }), { metadata: { labels: { 'toolyard.dev/kind': null } } });
    await gone(recordOf('relabelled'));
    await eventually('nothing of ours on it', async () => {
      const { metadata } = await api.get(at({ name: 'relabelled' }));
      return !Object.keys({ ...metadata.labels, ...metadata.annotations }).some((key) => /^toolyard.dev\/(state|status)$/.test(key));
    });
    await api.patch(at({ name: 'relabelled' }), { metadata: { labels: { 'toolyard.dev/kind': 'server.json' } } });
    await published(recordOf('relabelled'));
  });

  test('that is deleted is withdrawn after its grace, and restored when it is declared again', async () => {
    await declare({ name: 'deleted' });
    await published(recordOf('deleted'));
    await undeclare({ name: 'deleted' });
    await gone(recordOf('deleted'));
    await declare({ name: 'deleted', description: 'Is back' });
    await published(recordOf('deleted'), ({ server }) => server.description === 'Is back');
  });

  test('that is replaced by delete and create is edited, and never withdrawn', async () => {
    await declare({ name: 'replaced' });
    await published(recordOf('replaced'));
    await undeclare({ name: 'replaced' });
    await declare({ name: 'replaced', description: 'Replaced' });
    await published(recordOf('replaced'), ({ server }) => server.description === 'Replaced');
    const events = await eventsOf({ name: 'replaced' });
    expect(events.filter(({ reason }) => /withdr/i.test(reason))).toEqual([]);
  });

  test("whose version is bumped and reverted takes the registry's latest along", async () => {
    await declare({ name: 'bumped' });
    await published(recordOf('bumped'));
    await declare({ name: 'bumped', version: '1.1.0' });
    await published(recordOf('bumped'), ({ server }) => server.version === '1.1.0');
    await declare({ name: 'bumped', version: '1.0.0' });
    await published(recordOf('bumped'), ({ server }) => server.version === '1.0.0');
  });

  test('that is not valid is refused with every fault at once', async () => {
    await declare({ name: 'invalid', fields: { version: 'latest', title: 7 } });
    await reason({ name: 'invalid' }, 'Accepted', 'InvalidRecord');
    const status = await statusOf({ name: 'invalid' });
    expect(status?.faults?.map(({ path }) => path).toSorted()).toEqual(['title', 'version']);
    await eventually('its Event', async () =>
      (await eventsOf({ name: 'invalid' })).some(
        ({ reason, type, message }) => reason === 'InvalidRecord' && type === 'Warning' && /title.*version/s.test(message),
      ),
    );
    await declare({ name: 'invalid', text: '{' });
    await reason({ name: 'invalid' }, 'Accepted', 'InvalidJson');
    await declare({ name: 'invalid' });
    await published(recordOf('invalid'));
  });

  test('of a name that another namespace declares is refused, and takes over when that one goes', async () => {
    const shared = recordOf('shared');
    await declare({ name: 'shared' });
    await published(shared);
    const second = { name: 'shared', namespace: TEAM_B, record: shared, description: 'Of the other team' };
    await declare(second);
    expect(await reason(second, 'Accepted', 'NameTaken')).toContain('team-a/shared');
    await undeclare({ name: 'shared' });
    await published(shared, ({ server }) => server.description === 'Of the other team');
  });

  test('of a name that the policy does not give to its namespace is refused', async () => {
    const denied = { name: 'denied', namespace: TEAM_B, record: recordOf('denied') };
    await declare(denied);
    expect(await reason(denied, 'Accepted', 'NameNotAllowed')).toContain('team-b');
    const ours = { name: 'ours', record: 'dev.toolyard/other' };
    await declare(ours);
    await reason(ours, 'Accepted', 'NameNotAllowed');
  });

  test('is deleted at once, whether or not there is an operator', async () => {
    await api.create(declaration({ name: 'short-lived' }));
    await undeclare({ name: 'short-lived' });
    expect(await api.find(at({ name: 'short-lived' }))).toBeUndefined();
  });
});
