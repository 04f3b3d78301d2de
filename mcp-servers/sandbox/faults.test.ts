import { expect, test } from 'vitest';
import { sandboxErrorOf } from './faults.ts';
import { GuestFault } from './local/guest.ts';

test.each([
  ['ENOENT', 'no-such-file', 'list_files'],
  ['EISDIR', 'wrong-kind', 'a directory'],
  ['EACCES', 'denied', '/workspace'],
  ['ENOSPC', 'disk-full', 'remove files'],
  ['EAGAIN', 'busy', 'process limit'],
  ['EFBIG', 'too-large', 'in parts'],
  ['EWHATEVER', 'failed', '(EWHATEVER)'],
])('%s inside is %s to a caller, who is told about the path and what to do', (errno, code, advice) => {
  const error = sandboxErrorOf(new GuestFault(errno), 'some/path');
  expect(error).toMatchObject({ code, message: expect.stringContaining(advice) as string });
  expect(error.message).toMatch(/^some\/path: /);
});

test('a name of the guest’s own making is no meaning', () => {
  expect(sandboxErrorOf(new GuestFault('constructor'), 'x').code).toBe('failed');
});

test('a command that could not be started is not taken for a file that is not there', () => {
  expect(sandboxErrorOf(new GuestFault('ENOENT'), undefined)).toMatchObject({
    code: 'failed',
    message: expect.stringMatching(/^the command: /) as string,
  });
  expect(sandboxErrorOf(new GuestFault('EAGAIN'), undefined)).toMatchObject({ code: 'busy' });
});
