import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Caller, startSandboxServer, type RunningServer } from './client.ts';
import { forEachIsolation, runsc } from './isolations.ts';
import { patience } from './suite.ts';

forEachIsolation('the sandbox server', (isolation) => {
  const directory = mkdtempSync(join(tmpdir(), 'toyd-server-'));
  let server: RunningServer;
  let ann: Caller;
  let bob: Caller;

  beforeAll(async () => {
    const tokens = { ann: 'token-of-ann', bob: 'token-of-bob' };
    const digests = Object.entries(tokens).map(([name, token]) => [name, createHash('sha256').update(token).digest('hex')]);
    writeFileSync(join(directory, 'tokens.json'), JSON.stringify(Object.fromEntries(digests)));
    server = await startSandboxServer({
      SANDBOX_ISOLATION: isolation,
      ...(runsc !== undefined && { RUNSC: runsc }),
      STATE_DIR: join(directory, 'state'),
      AUTH: 'tokens',
      AUTH_TOKENS_FILE: join(directory, 'tokens.json'),
      SANDBOX_PER_CALLER: '3',
      SANDBOX_IN_ALL: '5',
      SANDBOX_IDLE_SECONDS: '600',
      SANDBOX_FILE_KIB: '64',
    });
    ann = await Caller.connect(server.url, tokens.ann);
    bob = await Caller.connect(server.url, tokens.bob);
  });

  afterAll(async () => {
    await ann.close();
    await bob.close();
    const code = await server.close();
    rmSync(directory, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  });

  test('run_code runs a program of each language in a fresh sandbox and says what held it', async () => {
    const fibonacci = {
      python: 'def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(15))',
      typescript: 'const fib = (n: number): number => (n < 2 ? n : fib(n - 1) + fib(n - 2));\nconsole.log(fib(15));',
      javascript: 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));\nconsole.log(fib(await Promise.resolve(15)));',
      bash: 'fib() { if (( $1 < 2 )); then echo $1; else echo $(( $(fib $(( $1 - 1 ))) + $(fib $(( $1 - 2 ))) )); fi; }\necho $(( $(fib 6) * 76 + 2 ))',
    };
    for (const [language, code] of Object.entries(fibonacci)) {
      const { given } = await ann.call('run_code', { language, code });
      const duration = expect.any(Number);
      expect(given).toEqual({ stdout: '610\n', stderr: '', exit_code: 0, timed_out: false, duration_ms: duration, files: [], isolation });
    }
  });

  test('run_code names the files that a program made or changed, and shows small pictures and tables', async () => {
    const name = await ann.create();
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    for (const path of ['before.txt', 'changed.txt']) await ann.call('upload_file', { sandbox_claim_name: name, path, content: 'old' });
    const code = [
      'import base64, os, sys',
      `open("chart.png", "wb").write(base64.b64decode("${png}"))`,
      'open("table.csv", "w").write("a,b\\n1,2\\n")',
      'os.makedirs("out", exist_ok=True); open("out/notes.txt", "w").write("x" * 10)',
      'open("changed.txt", "w").write("new"); open("fake.png", "w").write("no picture"); open(".hidden", "w")',
      'print("said", file=sys.stderr); sys.exit(3)',
    ].join('\n');
    const { given, content } = await ann.call('run_code', { sandbox_claim_name: name, language: 'python', code });
    expect(given).toMatchObject({ exit_code: 3, stdout: '', stderr: 'said\n' });
    expect(given['files']).toEqual([
      { path: 'changed.txt', size: 3 },
      { path: 'chart.png', size: Buffer.from(png, 'base64').length },
      { path: 'fake.png', size: 10 },
      { path: 'out/notes.txt', size: 10 },
      { path: 'table.csv', size: 8 },
    ]);
    expect(content.slice(1)).toEqual([
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'text', text: 'table.csv:\na,b\n1,2\n' },
    ]);
    const killed = 'echo x > made; while :; do :; done';
    const { given: late } = await ann.call('run_code', { sandbox_claim_name: name, language: 'bash', code: killed, timeout: 1 });
    expect(late).toMatchObject({ timed_out: true, files: [{ path: 'made', size: 2 }] });
    const flood = 'echo x > again; head -c 600000 /dev/zero | tr "\\0" x >&2';
    const { given: loud } = await ann.call('run_code', { sandbox_claim_name: name, language: 'bash', code: flood });
    expect(loud).toMatchObject({ exit_code: 0, files: [{ path: 'again', size: 2 }] });
    expect(String(loud['stderr'])).toMatch(/^x+\n\[toolyard\] \d+ bytes are left out here; .*\nx+$/);
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('a command runs where, with what and on what it was told', async () => {
    const name = await ann.create();
    const command = 'pwd; echo "$WHO"; cat; ls -A /workspace';
    const around = { cwd: '/tmp', env: { WHO: "it's me" }, stdin: 'one\ntwo\n' };
    const { given } = await ann.call('execute_command', { sandbox_claim_name: name, command, ...around });
    expect(given).toMatchObject({ exit_code: 0, stdout: "/tmp\nit's me\none\ntwo\n", stderr: '' });
    const nowhere = await ann.call('execute_command', { sandbox_claim_name: name, command: 'echo ran', cwd: 'nowhere' });
    expect(nowhere.given).toMatchObject({ exit_code: 1, stdout: '' });
    expect(nowhere.given['stderr']).toContain('nowhere');
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('run_code in a sandbox sees its files and leaves nothing of itself behind, also when it is killed', async () => {
    const name = await ann.create();
    await ann.call('upload_file', { sandbox_claim_name: name, path: 'helper.py', content: 'answer = 42\n' });
    const { given } = await ann.call('run_code', {
      sandbox_claim_name: name,
      language: 'python',
      code: 'import helper; print(helper.answer)',
    });
    expect(given).toMatchObject({ stdout: '42\n', stderr: '', exit_code: 0 });
    const endless = 'print("so far", flush=True)\nwhile True: pass';
    const killed = await ann.call('run_code', { sandbox_claim_name: name, language: 'python', code: endless, timeout: 2 });
    expect(killed.given).toMatchObject({ stdout: 'so far\n', exit_code: 124, timed_out: true });
    expect(killed.given['stderr']).toContain('timed out after 2 s');
    const { given: files } = await ann.call('list_files', { sandbox_claim_name: name, path: '.' });
    expect((files['entries'] as { name: string }[]).map((entry) => entry.name)).toEqual(['__pycache__', 'helper.py']);
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('what one caller makes does not exist for another, in the same words as what never was', async () => {
    const name = await ann.create();
    const invented = `sb-${'a'.repeat(32)}`;
    const tools = {
      execute_command: { command: 'id' },
      download_file: { path: 'x' },
      upload_file: { path: 'x', content: '' },
      list_files: { path: '.' },
      file_exists: { path: '.' },
      delete_sandbox: {},
      run_code: { language: 'bash', code: 'id' },
    };
    for (const [tool, input] of Object.entries(tools)) {
      const foreign = await bob.call(tool, { ...input, sandbox_claim_name: name });
      const missing = await bob.call(tool, { ...input, sandbox_claim_name: invented });
      expect(foreign).toMatchObject({ failed: true, text: missing.text.replace(invented, name) });
      expect(foreign.text).toMatch(/^not-found: /);
    }
    expect((await bob.call('get_sandbox_status', { sandbox_claim_name: name })).given).toMatchObject({
      status: 'SandboxNotFound',
      ready: false,
    });
    expect((await ann.call('get_sandbox_status', { sandbox_claim_name: name })).given).toMatchObject({
      status: 'SandboxReady',
      ready: true,
    });
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
    expect((await ann.call('execute_command', { sandbox_claim_name: name, command: 'id' })).text).toMatch(/^ended: .*it was deleted/);
    expect(await ann.call('delete_sandbox', { sandbox_claim_name: name })).toMatchObject({ failed: false });
  });

  test('the same idempotency key gives a caller the same sandbox, and another caller another', async () => {
    const [first, again, other] = await Promise.all(
      [ann, ann, bob].map((caller) => caller.create({ idempotency_key: 'one', shutdown_after_seconds: 60 })),
    );
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    await ann.call('delete_sandbox', { sandbox_claim_name: first });
    await bob.call('delete_sandbox', { sandbox_claim_name: other });
  });

  test('nobody gets more sandboxes than one caller may have, also when asking all at once', async () => {
    const asked = await Promise.all(Array.from({ length: 6 }, () => ann.call('create_sandbox')));
    const made = asked.flatMap(({ given }) => (given['sandbox_claim_name'] === undefined ? [] : [given['sandbox_claim_name']]));
    expect(made).toHaveLength(3);
    expect(asked.find(({ failed }) => failed)?.text).toMatch(/^quota: .*delete_sandbox/);
    const others = await Promise.all([bob.call('create_sandbox'), bob.call('create_sandbox'), bob.call('create_sandbox')]);
    expect(others.filter(({ failed }) => !failed)).toHaveLength(2);
    expect(others.find(({ failed }) => failed)?.text).toMatch(/^quota: all 5 sandboxes/);
    await Promise.all(made.map((name) => ann.call('delete_sandbox', { sandbox_claim_name: name })));
    await Promise.all(
      others
        .map(({ given }) => given['sandbox_claim_name'])
        .filter(Boolean)
        .map((name) => bob.call('delete_sandbox', { sandbox_claim_name: name })),
    );
  });

  test('a lifetime that is null or too long becomes the longest allowed, and use puts the end off', async () => {
    for (const asked of [null, 10_000_000]) {
      const { given } = await ann.call('create_sandbox', { shutdown_after_seconds: asked });
      const seconds = (Date.parse(given['shutdown_time'] as string) - Date.now()) / 1000;
      expect(seconds).toBeGreaterThan(590);
      expect(seconds).toBeLessThanOrEqual(600);
      await ann.call('delete_sandbox', { sandbox_claim_name: given['sandbox_claim_name'] });
    }
    const { given } = await ann.call('create_sandbox', { shutdown_after_seconds: 60 });
    const name = given['sandbox_claim_name'];
    await ann.call('execute_command', { sandbox_claim_name: name, command: 'true', timeout: 30 });
    const { given: status } = await ann.call('get_sandbox_status', { sandbox_claim_name: name });
    const [end] = /\d{4}-\S+Z/.exec(status['message'] as string) ?? [];
    const putOff = (Date.parse(end ?? '') - Date.parse(given['shutdown_time'] as string)) / 1000;
    expect(putOff).toBeGreaterThanOrEqual(30);
    expect(putOff).toBeLessThan(60);
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('files: text and base64 both ways, and every refusal says what to do', async () => {
    const name = await ann.create();
    const file = (path: string, more: object = {}) => ({ sandbox_claim_name: name, namespace: 'anything', path, ...more });
    expect((await ann.call('upload_file', file('a/ü.txt', { content: 'grüß\n' }))).given).toEqual({ bytes_written: 7 });
    expect((await ann.call('download_file', file('a/ü.txt'))).given).toEqual({ content: 'grüß\n', bytes_read: 7 });
    expect((await ann.call('upload_file', file('b', { content: '//79', binary: true }))).given).toEqual({ bytes_written: 3 });
    expect((await ann.call('download_file', file('b', { binary: true }))).given).toEqual({ content: '//79', bytes_read: 3 });
    expect((await ann.call('file_exists', file('b'))).given).toEqual({ exists: true });
    expect((await ann.call('download_file', file('b'))).text).toMatch(/^invalid: .*binary=true/);
    expect((await ann.call('upload_file', file('c', { content: '//79 ', binary: true }))).text).toMatch(/^invalid: .*base64/);
    expect((await ann.call('upload_file', file('c', { content: 'x'.repeat(65 * 1024) }))).text).toMatch(/^too-large: .*65536/);
    expect((await ann.call('download_file', file('not-there'))).text).toMatch(/^no-such-file: not-there: .*list_files/);
    expect((await ann.call('download_file', file('a\0b'))).text).toMatch(/^invalid: .*NUL/);
    expect((await ann.call('execute_command', { sandbox_claim_name: name, command: `: ${'x'.repeat(130_000)}` })).text).toMatch(
      /^too-large: /,
    );
    const listed = await ann.call('list_files', file('.', { max_entries: 1 }));
    expect(listed.given).toMatchObject({ total_entries: 2, truncated: true, entries: [{ name: 'a', type: 'directory' }] });
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('a client that asked for progress reads what a command prints while it runs', async () => {
    const name = await ann.create();
    const told: string[] = [];
    const slow = 'echo début; sleep 1; echo middle >&2; until [ -e go ]; do sleep 0.05; done; echo end';
    const running = ann.follow('execute_command', { sandbox_claim_name: name, command: slow }, (message) => told.push(message));
    await vi.waitUntil(() => told.join('').includes('middle'), patience);
    await ann.call('upload_file', { sandbox_claim_name: name, path: 'go', content: '' });
    expect((await running).given).toMatchObject({ exit_code: 0, stdout: 'début\nend\n', stderr: 'middle\n' });
    expect(told.join('')).toMatch(/^début\nmiddle\n(end\n)?$/);
    const program = { language: 'bash', code: 'echo made > file; echo said; sleep 1.2' };
    const spoken: string[] = [];
    const { given } = await ann.follow('run_code', program, (message) => spoken.push(message));
    expect(given).toMatchObject({ stdout: 'said\n', stderr: '', files: [{ path: 'file', size: 5 }] });
    expect(spoken.join('')).toBe('said\n');
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('files are searched, moved, removed; directories made; refusals say what to do', async () => {
    const name = await ann.create();
    const at = (path: string, more = {}) => ({ sandbox_claim_name: name, path, ...more });
    for (const path of ['a/one.py', 'a/two.md']) await ann.call('upload_file', at(path, { content: 'needle\nhay\n' }));
    const { given } = await ann.call('search_files', at('a', { pattern: 'nee+dle', include: '*.py' }));
    expect(given).toEqual({ matches: [{ path: 'a/one.py', line: 1, text: 'needle' }], truncated: false });
    expect((await ann.call('search_files', at('.', { pattern: 'hay', max_matches: 1 }))).given).toMatchObject({ truncated: true });
    await ann.call('make_directory', at('b/c'));
    const done = [await ann.call('move_file', at('a/one.py', { to: 'b/c/one.py' })), await ann.call('delete_file', at('b/c/one.py'))];
    expect(done.map(({ text }) => text)).toEqual(['done', 'done']);
    for (const [tool, input, refusal] of [
      ['delete_file', at('a'), /^wrong-kind: a: .*recursive=true/],
      ['delete_file', at('gone'), /^no-such-file: gone: /],
      ['delete_file', at('/etc/hostname'), /^(denied|no-such-file): /],
      ['move_file', at('a/two.md', { to: 'b' }), /^wrong-kind: .*overwrite=true/],
      ['make_directory', at('/usr/new'), /^denied: /],
      ['search_files', at('.', { pattern: '(' }), /^invalid: .*[Uu]nmatched/],
    ] as const) {
      const { failed, text } = await ann.call(tool, input);
      expect({ failed, text }).toEqual({ failed: true, text: expect.stringMatching(refusal) });
    }
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('each caller is listed his own sandboxes', async () => {
    const name = await ann.create();
    const listed = async (caller: Caller) => (await caller.call('list_sandboxes')).given['sandboxes'] as Record<string, unknown>[];
    expect((await listed(ann)).map((one) => [one['sandbox_claim_name'], one['ready']])).toEqual([[name, true]]);
    expect(await listed(bob)).toEqual([]);
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
    expect(await listed(ann)).toEqual([]);
  });

  test('a caller who hangs up ends what he started', async () => {
    const name = await ann.create();
    const leaving = new AbortController();
    const gone = ann
      .call('execute_command', { sandbox_claim_name: name, command: 'while :; do date +%N > beat; sleep 0.02; done' }, leaving.signal)
      .catch(() => 'left');
    await vi.waitUntil(async () => (await ann.call('file_exists', { sandbox_claim_name: name, path: 'beat' })).given['exists'], patience);
    leaving.abort();
    expect(await gone).toBe('left');
    const command = 'before=$(cat beat); sleep 0.3; [ "$before" = "$(cat beat)" ] || echo beats';
    const beats = async () => (await ann.call('execute_command', { sandbox_claim_name: name, command })).given['stdout'];
    await vi.waitUntil(async () => (await beats()) === '', patience);
    await ann.call('delete_sandbox', { sandbox_claim_name: name });
  });

  test('get_sandbox_config tells isolation, limits, placement and, one by one, what holds and what does not', async () => {
    const { given } = await ann.call('get_sandbox_config');
    expect(given).toMatchObject({
      backend: 'local',
      isolation,
      ready: true,
      limits: { sandboxes_per_caller: 3, sandboxes_in_all: 5, idle_seconds: 600, file_bytes: 65_536 },
      placement: { namespace: 'toolyard-sandboxes', warmpool: 'default' },
      workspace: '/workspace',
    });
    const guarantees = given['guarantees'] as { what: string; holds: boolean; how: string }[];
    expect(guarantees.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['host kernel', 'network', 'memory', 'cpu', 'processes', 'disk', 'time']),
    );
    expect(guarantees.find(({ what }) => what === 'host kernel')?.holds).toBe(isolation === 'gvisor');
  });

  test('a client of agent-sandbox’s own server finds every tool, input, default and output that it knows', async () => {
    const schemas = await ann.schemas();
    for (const [name, { inputs, required, outputs }] of Object.entries(agentSandboxTools)) {
      const tool = schemas.get(name);
      expect(tool?.inputs.properties).toMatchObject(inputs);
      expect(new Set(tool?.inputs.required)).toEqual(new Set(required));
      expect(Object.keys(tool?.outputs?.properties ?? {})).toEqual(expect.arrayContaining(outputs));
    }
  });
});

const text = { type: 'string' };
const seconds = { type: 'integer', default: 60, exclusiveMinimum: 0, maximum: 600 };
const claim = { sandbox_claim_name: text, namespace: text };
const map = { default: null, anyOf: [{ type: 'object', additionalProperties: text }, { type: 'null' }] };

/** The tools of kubernetes-sigs/agent-sandbox, clients/integrations/mcp-server at 1.0; there namespace and warmpool are required too. */
const agentSandboxTools = {
  create_sandbox: {
    inputs: {
      warmpool: text,
      namespace: text,
      sandbox_ready_timeout: { type: 'integer', default: 180 },
      labels: map,
      shutdown_after_seconds: { default: 300, anyOf: [{ type: 'integer' }, { type: 'null' }] },
      pod_labels: map,
      pod_annotations: map,
    },
    required: [],
    outputs: ['sandbox_claim_name'],
  },
  delete_sandbox: { inputs: claim, required: ['sandbox_claim_name'], outputs: [] },
  execute_command: {
    inputs: { ...claim, command: text, timeout: seconds },
    required: ['sandbox_claim_name', 'command'],
    outputs: ['exit_code', 'stdout', 'stderr'],
  },
  upload_file: {
    inputs: { ...claim, path: text, content: text, binary: { type: 'boolean', default: false }, timeout: seconds },
    required: ['sandbox_claim_name', 'path', 'content'],
    outputs: ['bytes_written'],
  },
  download_file: {
    inputs: { ...claim, path: text, binary: { type: 'boolean', default: false }, timeout: seconds },
    required: ['sandbox_claim_name', 'path'],
    outputs: ['content', 'bytes_read'],
  },
  list_files: {
    inputs: {
      ...claim,
      path: text,
      timeout: seconds,
      max_entries: { type: 'integer', default: 1000, exclusiveMinimum: 0, maximum: 10_000 },
    },
    required: ['sandbox_claim_name', 'path'],
    outputs: ['entries', 'total_entries', 'truncated'],
  },
  file_exists: { inputs: { ...claim, path: text, timeout: seconds }, required: ['sandbox_claim_name', 'path'], outputs: ['exists'] },
  get_sandbox_status: { inputs: claim, required: ['sandbox_claim_name'], outputs: ['status', 'ready', 'message'] },
};
