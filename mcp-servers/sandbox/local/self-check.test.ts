import { expect, test } from 'vitest';
import { judgeSelfCheck } from './self-check.ts';

const good = [
  'user=1000',
  'capabilities=',
  'privileges=1',
  'interfaces=lo',
  'workspace=usable',
  'python=3.11.2',
  'javascript=v26.12.1',
  'bash=5.2.15(1)-release',
];

test('an inside that is as it should be holds, with the languages found there', () => {
  expect(judgeSelfCheck(good.join('\n'))).toEqual({
    holds: true,
    languages: [
      { name: 'python', version: '3.11.2' },
      { name: 'javascript', version: '26.12.1' },
      { name: 'typescript', version: '26.12.1' },
      { name: 'bash', version: '5.2.15(1)-release' },
    ],
  });
});

test('a machine without Python still has sandboxes', () => {
  const check = judgeSelfCheck(good.map((line) => (line.startsWith('python') ? 'python=' : line)).join('\n'));
  expect(check).toMatchObject({ holds: true, languages: [{ name: 'javascript' }, { name: 'typescript' }, { name: 'bash' }] });
});

test.each([
  ['user=1000', 'user=0', 'commands run as user 0'],
  ['capabilities=', 'capabilities=1ffffffffff', 'commands have capabilities 1ffffffffff'],
  ['privileges=1', 'privileges=0', 'commands may gain privileges: NoNewPrivs is 0'],
  ['interfaces=lo', 'interfaces=lo eth0', 'commands see the network interfaces lo eth0'],
  ['workspace=usable', 'writable=/\nwritable=/etc\nworkspace=usable', 'commands can write to / /etc'],
  ['workspace=usable', '', 'files cannot be written in /workspace and /tmp'],
  ['javascript=v26.12.1', 'javascript=', 'Node does not run inside'],
])('with %j turned into %j it holds nothing: %s', (line, changed, why) => {
  expect(judgeSelfCheck(good.map((each) => (each === line ? changed : each)).join('\n'))).toEqual({ holds: false, why });
});

test('silence is not taken for isolation', () => {
  expect(judgeSelfCheck('')).toMatchObject({ holds: false });
});
