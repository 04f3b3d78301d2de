import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exit } from '../../cli/exit.ts';
import type { DeclarationStatus } from '../../operator/records/status.ts';
import { run, toolyard, Up, weatherRecord, Weather, Yard } from '../up/running.ts';

// the commands change nothing, so that they can run beside each other
const yard = new Yard();
let up: Up;
let weather: Weather;
let of: readonly string[];

beforeAll(async () => {
  weather = await Weather.start();
  yard.declareShipped('fetch');
  yard.declareShipped('sandbox');
  yard.declare('weather', weatherRecord(weather.url));
  yard.declare('broken', weatherRecord(weather.url, { name: 'org.example/broken', description: '' }));
  up = new Up(yard);
  await up.ready;
  of = ['--state', yard.state];
});

afterAll(async () => {
  await up.stop();
  await weather.stop();
  yard.remove();
});

describe.concurrent('call', () => {
  test('finds a server through the registry by its name, or the end of it, and prints what its tool says', async () => {
    for (const name of ['org.example/weather', 'weather']) {
      expect(await toolyard('call', name, 'forecast', 'city=Oslo', 'days=2', ...of)).toEqual({
        code: exit.done,
        stdout: 'Oslo: day 1: mild, day 2: mild\n',
        stderr: '',
      });
    }
  });

  test('takes arguments from JSON, files and standard input', async () => {
    expect((await toolyard('call', 'weather', 'forecast', '--args', '{"city":"Oslo","days":1}', 'days=3', ...of)).stdout).toContain(
      'day 3',
    );
    const piped = await run(['call', 'weather', 'forecast', 'city=@-', ...of], { input: 'Ys' });
    expect(piped.stdout).toBe('Ys: day 1: mild\n');
    const missing = await toolyard('call', 'weather', 'forecast', 'city=@/nowhere/city', ...of);
    expect(missing.code).toBe(exit.notFound);
    expect(missing.stderr).toContain('/nowhere/city');
  });

  test('with --json prints the whole result', async () => {
    const { stdout } = await toolyard('call', 'weather', 'forecast', 'city=Oslo', '--json', ...of);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { city: 'Oslo', forecast: ['day 1: mild'] } });
  });

  test('fails when the tool reports an error, and prints that to standard error', async () => {
    expect(await toolyard('call', 'weather', 'forecast', 'city=Atlantis', ...of)).toEqual({
      code: exit.no,
      stdout: '',
      stderr: 'there is no weather station in Atlantis: ask for a city on land\n',
    });
  });

  test('refuses wrong arguments before it calls, with what is accepted', async () => {
    const wrong = await toolyard('call', 'weather', 'forecast', 'city=Oslo', 'days=many', ...of);
    expect(wrong.code).toBe(exit.usage);
    expect(wrong.stderr).toContain('days got "many", accepts integer');
    expect((await toolyard('call', 'weather', 'forecast', ...of)).stderr).toContain('forecast needs city');
    expect((await toolyard('call', 'weather', 'forecast', 'town=Oslo', ...of)).stderr).toContain('it takes: city, days');
    expect((await toolyard('call', 'weather', 'forecast', '--args', '[]', ...of)).code).toBe(exit.usage);
  });

  test('without a tool lists the tools with their arguments', async () => {
    const { stdout } = await toolyard('call', 'weather', ...of);
    expect(stdout).toContain(
      'forecast\n  Tells the weather of the next days.\n    city=  string, required\n    days=  integer, default 1\n',
    );
  });

  test('tells a missing server from a missing tool from a registry that is not there', async () => {
    const server = await toolyard('call', 'org.example/nobody', 'x', ...of);
    expect([server.code, server.stderr]).toEqual([exit.notFound, expect.stringContaining('has no server org.example/nobody')]);
    const tool = await toolyard('call', 'weather', 'rain', ...of);
    expect([tool.code, tool.stderr]).toEqual([exit.notFound, expect.stringContaining('it has forecast, alerts')]);
    const registry = await toolyard('call', 'weather', 'rain', '--registry', 'http://127.0.0.1:1');
    expect([registry.code, registry.stderr]).toEqual([exit.unreachable, expect.stringContaining('http://127.0.0.1:1')]);
    const state = await toolyard('call', 'weather', 'rain', '--state', '/nowhere');
    expect([state.code, state.stderr]).toEqual([exit.unreachable, expect.stringContaining('no toolyard up runs')]);
  });

  test('runs a program in the sandbox', async () => {
    const { code, stdout } = await run(['call', 'sandbox', 'run_code', 'language=python', 'code=@-', '--json', ...of], {
      input: 'print(6 * 7)',
    });
    expect(code).toBe(exit.done);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { stdout: '42\n', exit_code: 0 } });
  });
});

describe.concurrent('servers', () => {
  test('lists every declaration with its state, and the reason of what is not published', async () => {
    const { code, stdout } = await toolyard('servers', ...of);
    expect(code).toBe(exit.done);
    expect(stdout).toMatch(/org\.example\/weather +1\.0\.0 +Published +2 +http:/);
    expect(stdout).toMatch(/org\.example\/broken +1\.0\.0 +Refused\n {2}description: /);
    expect(stdout).toContain(`toolyard up runs as process ${up.pid}`);
  });

  test('prints the same as JSON', async () => {
    const { stdout } = await toolyard('servers', '--json', ...of);
    const { running, declarations } = JSON.parse(stdout) as { running: boolean; declarations: DeclarationStatus[] };
    expect(running).toBe(true);
    expect(declarations.map(({ name, state }) => [name, state])).toContainEqual(['org.example/weather', 'Published']);
  });

  test('tells a registry that does not answer from one that has nothing', async () => {
    const { code, stdout } = await toolyard('servers', '--registry', 'http://127.0.0.1:1', ...of);
    expect(code).toBe(exit.unreachable);
    expect(stdout).toContain('registry http://127.0.0.1:1 cannot be reached');
    expect(stdout).toMatch(/org\.example\/weather +1\.0\.0 +Published/);
  });

  test('says that there is no status yet', async () => {
    const { code, stderr } = await toolyard('servers', '--state', '/nowhere');
    expect(code).toBe(exit.notFound);
    expect(stderr).toContain('start the stack with toolyard up');
  });
});

describe.concurrent('explain', () => {
  test('says of a published server that it is, in plain words', async () => {
    const { code, stdout } = await toolyard('explain', 'weather', ...of);
    expect(code).toBe(exit.done);
    expect(stdout).toContain('org.example/weather 1.0.0  Published');
    expect(stdout).toContain('Tools: alerts, forecast');
  });

  test('says of a broken declaration every fault, and what to do', async () => {
    const { code, stdout } = await toolyard('explain', 'org.example/broken', ...of);
    expect(code).toBe(exit.no);
    expect(stdout).toMatch(/ {4}description: /);
    expect(stdout).toContain('Next: correct catalog/broken/server.json');
  });

  test('finds a declaration by its file too, and names what there is when nothing fits', async () => {
    expect((await toolyard('explain', 'catalog/weather/server.json', ...of)).code).toBe(exit.done);
    const { code, stderr } = await toolyard('explain', 'nobody', ...of);
    expect(code).toBe(exit.notFound);
    expect(stderr).toContain('org.example/weather');
  });
});

const linesOver80 = (text: string) => text.split('\n').filter((line) => line.length > 80);

describe.concurrent('every command', () => {
  test('is listed in 80 columns', async () => {
    const { code, stdout } = await toolyard('--help');
    expect(code).toBe(exit.done);
    expect(linesOver80(stdout)).toEqual([]);
    expect(stdout).toContain('Exit codes:');
  });

  test.each(['up', 'demo', 'validate', 'servers', 'explain', 'call'])(
    '%s documents its exit codes in 80 columns, and takes --json',
    async (name) => {
      const { code, stdout } = await toolyard(name, '--help');
      expect(code).toBe(exit.done);
      expect(stdout).toContain('Exits with 0');
      expect(stdout).toContain('--json');
      expect(linesOver80(stdout)).toEqual([]);
    },
  );

  test('refuses wrong usage with code 2', async () => {
    for (const args of [['nonsense'], ['up', '--registry-port', '70000'], ['explain'], ['call', 'x', '--registry', 'ftp://x']]) {
      const { code, stderr } = await toolyard(...args);
      expect(code).toBe(exit.usage);
      expect(stderr).toMatch(/^toolyard: .+\n {2}add --help for what it accepts\n$/);
    }
  });

  test('prints errors as JSON when asked to', async () => {
    const { stdout } = await toolyard('explain', 'nobody', '--json', ...of);
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: 'nothing declares nobody' } });
  });

  test('uses no colour in a pipe', async () => {
    expect((await toolyard('servers', ...of)).stdout).not.toContain('\u001b');
  });
});
