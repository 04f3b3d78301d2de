import { describe, expect, test } from 'vitest';
import { extract } from '../../mcp-servers/fetch/convert/extract.ts';
import { labelledPages, scoreOf } from './quality/labels.ts';

/** Against mcp-server-fetch the same pages are measured by `make test-differential`. */
describe('all that a reader would want of a page is kept, and nothing that its site repeats', () => {
  test.each(labelledPages())('$name', (page) => {
    const { missing, stray } = scoreOf(page, extract(page.html, 'https://example.org/folder/page').markdown);
    expect({ missing, stray }).toEqual({ missing: [], stray: [] });
  });
});
