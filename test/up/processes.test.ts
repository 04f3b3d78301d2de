import { readFileSync, readdirSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../cli/mcp.ts';
import { alive, descendants, freePorts, toolyard, until, untilGone, Up, Yard } from './running.ts';

let yard: Yard;
const ups: Up[] = [];

function up(options: ConstructorParameters<typeof Up>[1] = {}): Up {
  const started = new Up(yard, options);
  ups.push(started);
  return started;
}

beforeEach(() => {
  yard = new Yard();
  yard.declareShipped('fetch');
  yard.declareShipped('sandbox');
});

afterEach(async () => {
  for (const one of ups.splice(0)) {
    const left = descendants(one.pid);
    one.process.kill('SIGKILL');
    await one.exited;
    await untilGone(left);
  }
  yard.remove();
});

/** Makes a sandbox in which a command runs, so that stopping has something to end. */
async function busySandbox(running: Up): Promise<void> {
  const { declarations = [] } = await running.ready;
  const url = declarations.find(({ name }) => name === 'dev.toolyard/sandbox')?.endpoint ?? '';
  const server = await connect(url);
  const { structuredContent } = await server.call('create_sandbox', {});
  const { sandbox_claim_name: name } = structuredContent as { sandbox_claim_name: string };
  void server.call('execute_command', { sandbox_claim_name: name, command: 'sleep 97531' }).catch(() => undefined);
  await until(() => descendants(running.pid).find(({ command }) => command.includes('sleep 97531')));
}

test('publishes what ships; a second run keeps its secrets, which nothing shows', async () => {
  const first = up();
  const ready = await first.ready;
  const states = (ready.declarations ?? []).map(({ name, state }) => `${name} ${state}`);
  expect(states).toEqual(['dev.toolyard/fetch Published', 'dev.toolyard/sandbox Published']);
  expect(ready.isolation?.name).toMatch(/^(gvisor|bubblewrap)$/);
  expect(ready.connect?.claudeCode[0]).toMatch(/^claude mcp add --transport http fetch http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const files = ['registry-seed', 'sandbox-key'].map((name) => join(yard.state, name));
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
  const secrets = files.map((file) => readFileSync(file, 'utf8'));
  expect(await first.stop()).toBe(0);

  const second = up();
  expect((await second.ready).declarations?.map(({ state }) => state)).toEqual(['Published', 'Published']);
  const commands = descendants(second.pid).map(({ command }) => command);
  await second.stop();
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(secrets);
  const logs = readdirSync(join(yard.state, 'logs')).map((name) => readFileSync(join(yard.state, 'logs', name), 'utf8'));
  const shown = [...logs, ...commands, JSON.stringify(second.events)].join('\n');
  for (const secret of secrets) expect(shown).not.toContain(secret.trim());
});

describe('stopping leaves no process and no sandbox', () => {
  test('after SIGTERM', async () => {
    const running = up();
    await busySandbox(running);
    const left = descendants(running.pid);
    expect(left.length).toBeGreaterThan(3);
    expect(await running.stop('SIGTERM')).toBe(0);
    expect(alive(left)).toEqual([]);
    expect(readdirSync(join(yard.state, 'sandboxes'))).toEqual([]);
  });

  test('after Ctrl-C in a terminal, which signals every process of its group', async () => {
    const running = up();
    await busySandbox(running);
    const left = descendants(running.pid);
    process.kill(-running.pid, 'SIGINT');
    expect(await running.exited).toBe(0);
    expect(alive(left)).toEqual([]);
    expect(readdirSync(join(yard.state, 'sandboxes'))).toEqual([]);
  });

  test('after the terminal is closed while it is still starting', async () => {
    const running = up();
    await running.event(({ event }) => event === 'part');
    const left = descendants(running.pid);
    expect(await running.stop('SIGHUP')).toBe(0);
    expect(alive(left)).toEqual([]);
  });

  test('after kill -9 of toolyard up; the next one takes over state directory and ports at once', async () => {
    const first = up();
    await busySandbox(first);
    const port = new URL(await first.registry()).port;
    const left = descendants(first.pid);
    expect(await first.stop('SIGKILL')).toBe('SIGKILL');
    const second = up({ ports: [...freePorts, '--registry-port', port] });
    expect(new URL(await second.registry()).port).toBe(port);
    await untilGone(left);
    const runs = readdirSync(join(yard.state, 'sandboxes'));
    await second.stop();
    expect(runs.length).toBeLessThanOrEqual(1);
    expect(readdirSync(join(yard.state, 'sandboxes'))).toEqual([]);
  });
});

test('a second one names who has the state directory or a port, and touches nothing', async () => {
  const running = up();
  const { port } = new URL(await running.registry());
  const lock = readFileSync(join(yard.state, 'up.lock'), 'utf8');
  const sameState = await toolyard('up', '--catalog', yard.catalog, '--state', yard.state, ...freePorts);
  expect(sameState.code).toBe(5);
  expect(sameState.stderr).toMatch(new RegExp(`process ${running.pid} \\(.*cli/main\\.ts up`));
  expect(readFileSync(join(yard.state, 'up.lock'), 'utf8')).toBe(lock);

  const other = new Yard();
  const samePort = await toolyard('up', '--catalog', other.catalog, '--state', other.state, ...freePorts, '--registry-port', port);
  expect(samePort.code).toBe(5);
  const ofUp = `which belongs to process ${running.pid} \\(.*cli/main\\.ts up`;
  expect(samePort.stderr).toMatch(
    new RegExp(`port ${port} for registry is held by process \\d+ \\(.*mcp-servers/registry/main\\.ts\\), ${ofUp}`),
  );
  expect(samePort.stderr).toContain(`stop process ${running.pid}, or`);

  const stranger = createServer();
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  const strange = String((stranger.address() as AddressInfo).port);
  const taken = await toolyard('up', '--catalog', other.catalog, '--state', other.state, ...freePorts, '--fetch-port', strange);
  stranger.close();
  expect(taken.code).toBe(5);
  expect(taken.stderr).toContain(`port ${strange} for fetch is held by process ${process.pid} (`);
  expect(taken.stderr).not.toContain('belongs to');

  expect(() => statSync(other.state)).toThrow(/ENOENT/);
  expect((await fetch(`${await running.registry()}/v0.1/ping`)).ok).toBe(true);
  other.remove();
});

test('a part that dies is started again, and that is said', async () => {
  const running = up();
  await running.ready;
  for (const name of ['registry', 'fetch', 'sandbox']) {
    const seen = running.events.length;
    const part = descendants(running.pid).filter(({ command }) => command.includes(`mcp-servers/${name}/main.ts`));
    for (const { pid } of part) process.kill(pid, 'SIGKILL');
    await running.event((event) => event.event === 'part' && event.name === name && event.is === 'restarting', seen);
    await running.event((event) => event.event === 'part' && event.name === name && event.is === 'ready', seen);
    expect(alive(part)).toEqual([]);
  }
});

test('a part that refuses its settings ends toolyard up with what it said', async () => {
  const running = up({ env: { AUTH: 'tokens', AUTH_TOKENS_FILE: '/nowhere/tokens' } });
  expect(await running.exited).toBe(2);
  const error = running.events.at(-1)?.error;
  expect(error?.message).toMatch(/^(fetch|sandbox) does not start: it ended with exit code 2; it refused its settings/);
  expect(error?.details?.join('\n')).toContain('AUTH_TOKENS_FILE: got "/nowhere/tokens"');
});

test('a catalog that is not there is refused before anything is touched', async () => {
  const { code, stderr } = await toolyard('up', '--catalog', join(yard.root, 'nowhere'), '--state', yard.state, ...freePorts);
  expect(code).toBe(3);
  expect(stderr).toContain(join(yard.root, 'nowhere'));
  expect(() => statSync(yard.state)).toThrow(/ENOENT/);
});

test('wrong settings, of the operator or of a part, are refused before anything is touched', async () => {
  const running = up({ env: { WITHDRAW_AFTER_SECONDS: 'soon', SANDBOX_ISOLATION: 'docker' } });
  expect(await running.exited).toBe(2);
  const details = running.events.at(-1)?.error?.details?.join('\n');
  expect(details).toContain('WITHDRAW_AFTER_SECONDS: got "soon"');
  expect(details).toContain('SANDBOX_ISOLATION: got "docker"');
  expect(() => statSync(yard.state)).toThrow(/ENOENT/);
});

test('one port for two parts is refused before anything is touched', async () => {
  const running = up({ ports: ['--registry-port', '8077', '--fetch-port', '8077', '--sandbox-port', '0'] });
  expect(await running.exited).toBe(2);
  expect(running.events.at(-1)?.error?.message).toBe('port 8077 is given to both registry and fetch');
  expect(() => statSync(yard.state)).toThrow(/ENOENT/);
});
