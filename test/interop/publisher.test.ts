import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCHEMA_URL, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { seen } from '../../mcp-servers/registry/testing.ts';
import { withProgram } from './ensure.ts';
import { startRegistry, type Registry } from './registry.ts';

const name = 'io.modelcontextprotocol.anonymous/weather';
const duplicate = `invalid version: cannot publish duplicate version: ${name}@1.0.0 already exists`;

function document(changes: Partial<ServerJson> = {}): ServerJson {
  const remotes = [{ type: 'streamable-http' as const, url: 'https://weather.example.org/mcp' }];
  return { $schema: SCHEMA_URL, name, description: 'Tells the weather.', version: '1.0.0', remotes, ...changes };
}

await withProgram('the official mcp-publisher', ['ensure-official-registry', 'publisher'], (program) => {
  /** One story, told in order: the official command line against the embedded registry, as its documentation says. */
  describe('mcp-publisher', () => {
    let registry: Registry;
    let home: string;

    beforeAll(async () => {
      registry = await startRegistry();
      home = await mkdtemp(join(tmpdir(), 'toolyard-publisher-'));
    });

    afterAll(async () => {
      await registry.close();
      await rm(home, { recursive: true });
    });

    const run = (...args: string[]): Promise<{ code: number; output: string }> =>
      new Promise((resolve) => {
        execFile(program, args, { cwd: home, env: { HOME: home }, timeout: 20_000 }, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr }),
        );
      });

    const write = (content: ServerJson) => writeFile(join(home, 'server.json'), JSON.stringify(content));

    const statusOf = async (version: string) => {
      const record = await registry.client.getVersion(name, version, { includeDeleted: true });
      const { status, statusMessage, isLatest } = seen(record);
      return { status, statusMessage, isLatest };
    };

    test('logs in without credentials, and keeps the token where nobody else can read it', async () => {
      expect(await run('login', 'none', `--registry=${registry.url}`)).toMatchObject({ code: 0 });
      const file = join(home, '.config', 'mcp-publisher', 'token.json');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ method: 'none', registry: registry.url });
    });

    test('finds the template valid that it writes itself, and may not publish it', async () => {
      expect(await run('init')).toMatchObject({ code: 0 });
      expect(await run('validate')).toEqual({ code: 0, output: expect.stringContaining('server.json is valid') });
      expect(await run('publish')).toEqual({
        code: 1,
        output: expect.stringContaining('You do not have permission to publish this server'),
      });
    });

    test('shows every fault of a document at once, with its place, and does not publish it', async () => {
      await write(document({ version: '^1.0.0', repository: { url: 'https://git.example.org/weather', source: 'github' } }));
      const faults = expect.stringMatching(
        /failed with 2 issue\(s\):[^]*\[error\] version \(semantic\)[^]*\[error\] repository\.url \(semantic\)/,
      );
      expect(await run('validate')).toEqual({ code: 1, output: faults });
      expect(await run('publish')).toEqual({ code: 1, output: faults });
      expect(await registry.client.listAll()).toEqual([]);
    });

    test('publishes a document as it is, once', async () => {
      await write(document());
      expect(await run('publish')).toEqual({ code: 0, output: expect.stringContaining(`Server ${name} version 1.0.0`) });
      expect((await registry.client.getVersion(name, '1.0.0'))?.server).toEqual(document());
      expect(await run('publish')).toEqual({ code: 1, output: expect.stringContaining(duplicate) });
    });

    test('publishes a newer version, which is then the latest', async () => {
      await write(document({ version: '1.1.0' }));
      expect(await run('publish')).toMatchObject({ code: 0 });
      expect(await statusOf('1.0.0')).toMatchObject({ isLatest: false });
      expect(await statusOf('1.1.0')).toMatchObject({ isLatest: true });
    });

    test('deprecates one version, with a reason', async () => {
      expect(await run('status', '--status', 'deprecated', '--message', 'Use 1.1.0.', name, '1.0.0')).toMatchObject({ code: 0 });
      expect(await statusOf('1.0.0')).toMatchObject({ status: 'deprecated', statusMessage: 'Use 1.1.0.' });
      expect(await statusOf('1.1.0')).toMatchObject({ status: 'active' });
    });

    test('deletes all versions, and restores one, which is then the latest', async () => {
      expect(await run('status', '--status', 'deleted', '--all-versions', '--yes', name)).toMatchObject({ code: 0 });
      expect(await registry.client.listAll()).toEqual([]);
      expect(await run('status', '--status', 'active', name, '1.0.0')).toMatchObject({ code: 0 });
      expect(await statusOf('1.0.0')).toEqual({ status: 'active', statusMessage: undefined, isLatest: true });
      expect(await statusOf('1.1.0')).toMatchObject({ status: 'deleted', isLatest: false });
    });

    test('is told that there is no such server', async () => {
      expect(await run('status', '--status', 'deleted', `${name}-map`, '1.0.0')).toEqual({
        code: 1,
        output: expect.stringContaining('Server not found'),
      });
    });
  });
});
