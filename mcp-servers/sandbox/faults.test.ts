import { expect, test } from 'vitest';
import { errnoIn, InsideFault, sandboxErrorOf } from './faults.ts';

test.each([
  ['ENOENT', 'no-such-file', 'list_files'],
  ['EISDIR', 'wrong-kind', 'a directory'],
  ['EACCES', 'denied', '/workspace'],
  ['ENOSPC', 'disk-full', 'remove files'],
  ['EAGAIN', 'busy', 'process limit'],
  ['EFBIG', 'too-large', 'in parts'],
  ['EWHATEVER', 'failed', '(EWHATEVER)'],
])('%s inside is %s to a caller, who is told about the path and what to do', (errno, code, advice) => {
  const error = sandboxErrorOf(new InsideFault(errno), 'some/path');
  expect(error).toMatchObject({ code, message: expect.stringContaining(advice) as string });
  expect(error.message).toMatch(/^some\/path: /);
});

test('a name of the guest’s own making is no meaning', () => {
  expect(sandboxErrorOf(new InsideFault('constructor'), 'x').code).toBe('failed');
});

test('a command that could not be started is not taken for a file that is not there', () => {
  expect(sandboxErrorOf(new InsideFault('ENOENT'), undefined)).toMatchObject({
    code: 'failed',
    message: expect.stringMatching(/^the command: /) as string,
  });
  expect(sandboxErrorOf(new InsideFault('EAGAIN'), undefined)).toMatchObject({ code: 'busy' });
});

test.each([
  ['open /workspace/x: no such file or directory', 'ENOENT'],
  ['head: cannot open x: Permission denied', 'EACCES'],
  ['bash: /usr/x: Read-only file system', 'EROFS'],
  ['write: no space left on device', 'ENOSPC'],
  ['lstat: file name too long', 'ENAMETOOLONG'],
  ['path traversal outside sandbox root is forbidden', undefined],
])('%s means %s', (text, errno) => {
  expect(errnoIn(text)).toBe(errno);
});
