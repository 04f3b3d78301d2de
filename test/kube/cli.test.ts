import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { record } from '../operator/bench.ts';
import { Site } from './site.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
let site: Site;

beforeAll(async () => {
  site = await Site.start();
  await site.namespace('team');
  const operator = await site.operator();
  await site.untilReady(operator);
  const endpoint = `${(await site.bench.server(['forecast'])).url}/mcp`;
  await site.declare('team/weather', record('com.example/weather', 'https://weather.example.com/mcp'), {
    'toolyard.dev/endpoint': endpoint,
  });
  await site.declare('team/broken', { ...record('com.example/broken', 'https://broken.example.com/mcp'), description: '' });
  await site.untilState('team/weather', 'Published');
  await site.untilState('team/broken', 'Refused');
});

afterAll(async () => {
  await site.close();
});

async function toolyard(...args: readonly string[]): Promise<{ code: number; text: string }> {
  const kubeconfig = await site.api.kubeconfig('admin');
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args, '--kubeconfig', kubeconfig], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr });
    });
  });
}

test('servers lists what the ConfigMaps of a cluster say', async () => {
  const { code, text } = await toolyard('servers');
  expect(code).toBe(0);
  expect(text).toMatch(/com\.example\/weather +1\.0\.0 +Published +1 /);
  expect(text).toMatch(/com\.example\/broken +1\.0\.0 +Refused/);
  expect(text).toContain(`cluster https://127.0.0.1:${site.api.port}`);
  const none = await toolyard('servers', '--namespace', 'default', '--json');
  expect(JSON.parse(none.text)).toMatchObject({ declarations: [] });
});

test('explain says why, and its exit code whether', async () => {
  const good = await toolyard('explain', 'weather');
  expect([good.code, good.text]).toEqual([0, expect.stringContaining('Declared in team/weather: server.json is valid')]);
  const bad = await toolyard('explain', 'team/broken');
  expect([bad.code, bad.text]).toEqual([1, expect.stringContaining('description: expected length >= 1')]);
  expect((await toolyard('explain', 'absent')).code).toBe(3);
  await site.api.kill();
  expect((await toolyard('explain', 'weather')).code).toBe(4);
});
