import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declarationOf, statusOf } from '../../mcp-servers/registry/pages/testing.ts';
import { pathOf, startTestRegistry, type TestRegistry } from '../../mcp-servers/registry/testing.ts';
import { chromium, startBrowser, type Browser, type Look } from './browser.ts';

const desktop: Look = { width: 1280, height: 900, scheme: 'light' };
const phone: Look = { width: 360, height: 740, scheme: 'light' };
const long = 'y'.repeat(80);
const record = '/servers/shown.b/server';
const targets = [
  '/',
  '/?state=refused',
  record,
  `${record}?version=1.0.0`,
  '/servers/waits.b/server',
  '/?search=nothing',
  '/servers/none.b/such',
];

/** How long a browser on a busy machine may take to show what it was asked for. */
const soon = { timeout: 10_000 };

let registry: TestRegistry;
let directory: string;
let page: Browser;
const here = isHere(chromium);

beforeAll(async () => {
  if (!here) return;
  directory = await mkdtemp(join(tmpdir(), 'toolyard-pages-'));
  const statusFile = join(directory, 'status.json');
  await writeFile(statusFile, status());
  registry = await startTestRegistry({ STATUS_FILE: statusFile });
  await publishAll();
  page = await startBrowser();
});

afterAll(async () => {
  if (!here) return;
  await page.close();
  await registry.close();
  await rm(directory, { recursive: true });
});

function isHere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function status(): string {
  const faults = [{ path: 'version', message: long }];
  return statusOf(
    declarationOf('shown.b/server', 'Published', { tools: { count: 3, names: ['alerts', long] } }),
    declarationOf('waits.b/server', 'Pending', { why: `nothing listens at https://${long}.example/${long}` }),
    declarationOf('leaves.b/server', 'Withdrawing'),
    declarationOf('', 'Refused', { source: `catalog/${long}/server.json`, version: '', why: 'no JSON', faults }),
  );
}

async function publish(name: string, version: string, changes: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { status, body } = await registry.publish(name, version, changes);
  if (status !== 200) throw new Error(`${name} ${version}: ${JSON.stringify(body)}`);
}

async function publishAll(): Promise<void> {
  const header = { name: `X-${long}`, description: long, isRequired: true, isSecret: true };
  const changes = {
    title: `Weather <b>&${long}`,
    description: long,
    websiteUrl: `https://docs.example/${long}`,
    remotes: [
      { type: 'streamable-http', url: `https://${long.slice(0, 60)}.example/${long}${long}`, headers: [header] },
      { type: 'sse', url: 'https://a.example/sse' },
    ],
    packages: [{ registryType: 'npm', identifier: `@x/${long}`, version: '1.0.0', transport: { type: 'stdio' } }],
  };
  for (const version of ['1.0.0', '1.1.0', `2.0.0-${long}`]) await publish('shown.b/server', version, changes);
  await registry.setStatus(pathOf('shown.b/server', '1.0.0'), 'deprecated', `use 2.0.0 ${long}`);
  await publish('leaves.b/server', '1.0.0');
  await publish('gone.b/server', '1.0.0');
  await registry.setStatus(pathOf('gone.b/server'), 'deleted');
  for (let index = 10; index < 70; index += 1) await publish(`many.b/n${index}`, '1.0.0', { title: `Number ${index}` });
}

function textOf(selector: string): Promise<string> {
  return page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`);
}

function addressOf(): Promise<string> {
  return page.evaluate('location.pathname + location.search');
}

test('there is a browser to test the pages in', (context) => {
  if (here) return;
  const message = `${chromium} is not on this machine: THE PAGES ARE NOT TESTED IN A BROWSER; ./scripts/ensure-chromium installs it on Debian, as root`;
  process.stderr.write(`\n!!! ${message}\n\n`);
  if (process.env['CI'] !== 'true') context.skip(message);
  expect.fail(message);
});

describe.runIf(here)('the pages in a browser', () => {
  test('servers are searched, filtered and opened by keyboard alone, and the list follows what is typed', async () => {
    await page.look(desktop);
    await page.open(`${registry.url}/`);
    await page.press('/');
    await page.type('NUMBER /N6');
    await expect.poll(() => textOf('#count'), soon).toBe('10 servers with “NUMBER /N6”');
    expect(await addressOf()).toBe('/?search=NUMBER+%2FN6');
    await page.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Search');
    await page.press('Enter');
    await expect
      .poll(() => page.evaluate('performance.getEntriesByType("navigation")[0].name + document.readyState'))
      .toMatch(/search=NUMBER\+%2FN6.*complete/);

    const tabTo = async (text: string) => {
      for (let step = 0; step < 30; step += 1) {
        await page.press('Tab');
        if (String(await page.evaluate('document.activeElement.textContent')).includes(text)) return;
      }
      expect.fail(`the Tab key never comes to ${text}`);
    };
    await tabTo('Published');
    await page.press('Enter');
    await expect.poll(() => addressOf(), soon).toBe('/?search=NUMBER+%2FN6&state=published');
    await tabTo('Number 63');
    await page.press('Enter');
    await expect.poll(() => textOf('h1'), soon).toBe('Number 63');
    expect(await addressOf()).toBe('/servers/many.b/n63');
    await page.press('/');
    await expect.poll(() => addressOf(), soon).toBe('/');
    expect(page.complaints()).toEqual([]);
  });

  test('the first stop of the Tab key skips to the content, and every stop is seen', async () => {
    await page.look(desktop);
    await page.open(`${registry.url}${record}`);
    await page.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('#main');
    for (let stop = 0; stop < 10; stop += 1) {
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await page.press('Tab');
    }
  });

  test('a line is copied with one press, as it is shown', async () => {
    await page.look(desktop);
    await page.open(`${registry.url}${record}`);
    await page.evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`);
    await page.evaluate(`document.querySelector('figcaption button').click()`);
    await expect.poll(() => textOf('figcaption button'), soon).toBe('Copied');
    expect(await page.evaluate('window.copied')).toMatch(/^claude mcp add --transport http server https:\/\/\S+ --header 'X-y+: <X-y+>'$/);
  });

  test('nothing is wider than a phone, whatever a record says; dark differs from light', async () => {
    const colour = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    for (const target of targets) {
      await page.look(phone);
      await page.open(`${registry.url}${target}`);
      await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
      expect([target, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([target, phone.width]);
      const light = await colour();
      await page.look({ ...phone, scheme: 'dark' });
      expect(await colour()).not.toBe(light);
    }
    // the browser reports the status of the page that is not there
    expect(page.complaints().filter((text) => !text.includes('status of 404'))).toEqual([]);
  });

  test('axe finds nothing serious in light and in dark, and the console has nothing to complain about', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    // in the dark only the colours differ, and these two have them all
    const shown = { light: ['/?search=server', record, '/servers/waits.b/server', '/?search=nothing'], dark: ['/?search=server', record] };
    for (const scheme of ['light', 'dark'] as const) {
      for (const target of shown[scheme]) {
        await page.look({ ...desktop, scheme });
        await page.open(`${registry.url}${target}`);
        await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
        expect(page.complaints()).toEqual([]);
        await page.evaluate(`${axe}; undefined`);
        const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
          `axe.run({ resultTypes: ['violations']${scheme === 'dark' ? ", runOnly: ['color-contrast']" : ''} }).then(({ violations }) => violations)`,
        );
        const serious = found.filter(({ impact }) => ['serious', 'critical'].includes(impact));
        expect(serious.map(({ id, nodes }) => [target, scheme, id, nodes[0]?.html])).toEqual([]);
      }
    }
  });
});
