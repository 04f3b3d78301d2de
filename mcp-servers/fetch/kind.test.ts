import { describe, expect, test } from 'vitest';
import { contentOf } from './kind.ts';

const head = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the bytes decide whether something is text', () => {
  test.each([
    ['an icon', '\0\0\x01\0\x01\0', 'image/x-icon', 'image/x-icon'],
    ['a ZIP', 'PK\x03\x04\x14\0', undefined, 'application/zip'],
    ['unknown bytes', 'a\0b\x01', undefined, 'application/octet-stream'],
    ['unknown bytes under a name', 'a\0b\x01', 'application/x-custom; v=1', 'application/x-custom'],
    ['text/plain with control characters', 'a\0b\x01', 'text/plain', 'text/plain'],
  ])('%s', (_name, bytes, announced, type) => {
    expect(contentOf(head(bytes), announced)).toMatchObject({ kind: 'binary', type });
  });

  test.each([
    ['a PNG', '\x89PNG\r\n\x1A\n\0\0\0\rIHDR', 'image/png', { kind: 'image', type: 'image/png' }],
    ['a PNG that is announced as HTML', '\x89PNG\r\n\x1A\n\0\0\0\rIHDR', 'text/html', { kind: 'image', type: 'image/png' }],
    ['a PNG without a type', '\x89PNG\r\n\x1A\n\0\0\0\rIHDR', undefined, { kind: 'image', type: 'image/png' }],
    ['a JPEG', '\xFF\xD8\xFF\xE0', 'image/jpg', { kind: 'image', type: 'image/jpeg' }],
    ['a WebP', 'RIFF\x24\0\0\0WEBPVP8 ', 'application/octet-stream', { kind: 'image', type: 'image/webp' }],
    [
      'a PDF, whose head is printable',
      '%PDF-1.4\n%\xE2\xE3\xCF\xD3\n1 0 obj',
      'application/octet-stream',
      { kind: 'pdf', type: 'application/pdf' },
    ],
    ['a PDF after a few other bytes', '\x01\x02\r\n%PDF-1.4\n%\xE2\xE3', 'application/pdf', { kind: 'pdf', type: 'application/pdf' }],
  ])('shown in its own way: %s', (_name, bytes, announced, content) => {
    expect(contentOf(head(bytes), announced)).toMatchObject(content);
  });

  test.each([
    ['JSON', '{"a":1}', 'application/json'],
    ['Markdown that opens with HTML', '<h1 align="center">tool</h1>\n', 'text/plain; charset=utf-8'],
    ['TypeScript announced as video', 'const a: number = 1;', 'video/mp2t'],
    ['text as octet-stream', '# Title', 'application/octet-stream'],
    ['windows-1251 text', '\xCF\xF0\xE8\xE2\xE5\xF2', 'text/plain; charset=windows-1251'],
    ['JSON about HTML', '{"page":"<html>"}', 'application/json'],
    ['HTML announced as JSON', '<html>', 'application/json'],
    ['nothing', '', 'text/plain'],
    ['UTF-16 with its label', 'h\0i\0', 'text/plain; charset=utf-16le'],
    ['a type that cannot be parsed', 'words', 'what?'],
  ])('text: %s', (_name, bytes, announced) => {
    expect(contentOf(head(bytes), announced).kind).toBe('text');
  });
});

describe('HTML', () => {
  test.each([
    ['by its type', 'hello', 'text/html; charset=utf-8'],
    ['by its type, in capitals', 'hello', 'TEXT/HTML'],
    ['XHTML', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', 'application/xhtml+xml'],
    ['by its tag, in text/plain', '<html><body>x', 'text/plain'],
    ['by its tag after a prolog', '<?xml version="1.0"?>\n<!-- a\nb -->\n<!DOCTYPE html PUBLIC "-//W3C">\n<HTML lang=en>', 'text/xml'],
    ['by its doctype', '\xEF\xBB\xBF<!DOCTYPE html>\n<title>x</title>', 'application/octet-stream'],
    ['without a type', '<p>hello', undefined],
    ['nothing at all', '', undefined],
    ['UTF-16 by its label', '<\0p\0>\0', 'text/html; charset=utf-16'],
  ])('%s', (_name, bytes, announced) => {
    expect(contentOf(head(bytes), announced).kind).toBe('html');
  });
});

test.each([
  ['application/rss+xml', '<rss/>'],
  ['image/svg+xml', '<svg/>'],
  ['text/xml', '<a/>'],
  [undefined, '<?xml version="1.0"?><a/>'],
])('XML: %s', (announced, bytes) => {
  expect(contentOf(head(bytes), announced).kind).toBe('xml');
});

test('the announced charset is handed on', () => {
  expect(contentOf(head('x'), 'text/html; charset="Shift_JIS"').charset).toBe('Shift_JIS');
  expect(contentOf(head('x'), undefined).charset).toBeUndefined();
});

test('a head that only nearly opens with HTML is judged at once', () => {
  const started = performance.now();
  contentOf(head('<!--'.repeat(360)), 'text/plain');
  contentOf(head(' '.repeat(1445)), 'text/plain');
  contentOf(head('<?'.repeat(722)), 'text/plain');
  expect(performance.now() - started).toBeLessThan(200);
});
