import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { CommandResult, Placement, SandboxBackend, SandboxError, SandboxOrder } from '../../mcp-servers/sandbox/backend.ts';

const MIB = 1024 * 1024;
const never = new AbortController().signal;
/** For a state to come about: much more than it takes, since the machine may be busy. */
export const patience = { timeout: 20_000 };

/** What a backend under this suite must be set to: tight enough for the bombs to go off in no time. */
export const suiteLimits = { memoryBytes: 256 * MIB, diskBytes: 32 * MIB, processes: 96, cpus: 1 };
export const suiteSettings = { limits: suiteLimits, outputBytes: 64 * 1024, fileBytes: MIB };

/** What a backend's surroundings leave untested, or do in their own way. */
export interface World {
  /** false: what should hold the sandboxes is played by something that does not: bombs would go off in this machine */
  readonly isolated: boolean;
  /** `workspace`: agent-sandbox's file service, which leaves dangling links out of a listing and puts a file in the place of a named pipe */
  readonly files: 'whole' | 'workspace';
  /** as the backend knows them; @default suiteLimits */
  readonly limits?: object;
  /** `machine`: what sandboxes see is made of this machine, without its own; `image`: all of an image's, and an interface that leads nowhere; @default machine */
  readonly root?: 'machine' | 'image';
  /** processes and memory are counted by command: what uses too much of them ends, and not its sandbox; @default true */
  readonly counted?: boolean;
  /** @default defaultPlacement */
  readonly placement?: Placement;
}

/** Where sandboxes are asked for. */
const defaultPlacement: Placement = { namespace: 'toolyard-sandboxes', warmpool: 'default' };

/** Defines nothing where a backend's surroundings leave something untested: a test that is skipped is one that should have run. */
function unless<Define extends typeof test | typeof describe>(left: boolean, define: Define): Define {
  return left ? ((() => {}) as unknown as Define) : define;
}

/** What every backend must do, whatever isolates it. The backend is started once, with `suiteSettings`. */
export function sandboxBackendSuite(open: () => Promise<SandboxBackend>, world: World = { isolated: true, files: 'whole' }): void {
  let backend: SandboxBackend;
  let guest: Guest;

  beforeAll(async () => {
    backend = await open();
    guest = new Guest(backend, 'sb-suite', world.placement);
    await guest.create();
  });
  afterAll(() => backend.close());

  describe('commands', () => {
    test('a recursive Fibonacci program written into the sandbox prints 610 for n = 15', async () => {
      await guest.write('fib.py', 'def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(15))\n');
      expect(await guest.run('python3 fib.py')).toMatchObject({ exitCode: 0, stdout: '610\n', stderr: '' });
    });

    test('Python, Node and bash run; a shell understands pipes, variables and redirections, also to /dev/stderr', async () => {
      expect(await guest.run('node -p "6 * 7"')).toMatchObject({ stdout: '42\n' });
      const script = 'words=(a b c); echo "${words[@]}" | tr a-z A-Z | tee /dev/stderr > /dev/stdout';
      expect(await guest.run(script)).toMatchObject({ exitCode: 0, stdout: 'A B C\n', stderr: 'A B C\n' });
    });

    test('exit codes are passed on; a signal counts as 128 and its number', async () => {
      expect(await guest.run('exit 7')).toMatchObject({ exitCode: 7 });
      expect(await guest.run('no-such-program')).toMatchObject({ exitCode: 127 });
      expect(await guest.run('kill -TERM $$')).toMatchObject({ exitCode: 143 });
    });

    test('output that is no text comes through byte for byte', async () => {
      const { stdout } = await backend.execute(guest.handle, {
        command: String.raw`printf '\x00\xff\n'`,
        timeoutMs: 5_000,
        signal: never,
      });
      expect([...stdout]).toEqual([0, 255, 10]);
    });

    test('files stay for the next command; processes end with theirs', async () => {
      await guest.run(`echo kept > state; ${heart('left')}; ${heart('disowned')} & until [ -s left ] && [ -s disowned ]; do :; done`);
      expect(await guest.run('cat state')).toMatchObject({ stdout: 'kept\n' });
      expect(await guest.beats('left', 'disowned')).toBe(false);
    });

    test('a command that left something in the background with its output open does not wait for it', async () => {
      expect(await guest.run('sleep 1112 & echo done')).toMatchObject({ stdout: 'done\n', timedOut: false });
    });

    test('a timeout keeps what was printed and kills everything, whatever the program does against it', async () => {
      const stubborn = `trap "" TERM INT HUP; ${heart('stubborn')}; echo partial; echo problem >&2`;
      const result = await guest.run(`${stubborn}; while :; do :; done`, { timeoutMs: await guest.timeFor(stubborn) });
      expect(result).toMatchObject({ exitCode: 124, timedOut: true, stdout: 'partial\n', stderr: 'problem\n' });
      expect(result).not.toHaveProperty('note');
      expect(await guest.beats('stubborn')).toBe(false);
    });

    test('a command that signals its whole process group, as scripts do when they end, reaches nothing else', async () => {
      const signalling = new Guest(backend, 'sb-signals', world.placement);
      await signalling.create();
      const bystander = signalling.run('until [ -e released ]; do sleep 0.02; done; echo unharmed');
      expect(await signalling.run('trap "" TERM; kill 0; echo survived')).toMatchObject({ exitCode: 0, stdout: 'survived\n' });
      expect(await signalling.run('sleep 60 & kill -9 0')).toMatchObject({ exitCode: 137 });
      expect(await signalling.run('kill -STOP 0', { timeoutMs: 300 })).toMatchObject({ timedOut: true });
      await signalling.write('released', '');
      expect(await bystander).toMatchObject({ stdout: 'unharmed\n' });
      await signalling.delete();
    });

    test('of commands that were killed nothing stays, not even a number', async () => {
      const before = await guest.processes();
      for (let round = 0; round < 4; round += 1) await guest.run('sleep 60 & sleep 60', { timeoutMs: 100 });
      expect(await vi.waitUntil(async () => (await guest.processes()) <= before, patience)).toBe(true);
    });

    test.runIf(process.arch === 'x64')('a program that frees its process tree from dying with the command dies all the same', async () => {
      await guest.write('hijack.py', readFileSync(join(import.meta.dirname, 'hijack.py'), 'utf8'));
      const free = `rm -f freed; python3 hijack.py; ${heart('freed')}; until [ -s freed ]; do :; done`;
      const timeoutMs = await guest.timeFor(free);
      expect(await guest.beats('freed')).toBe(false);
      expect(await guest.run(`${free}; sleep 60`, { timeoutMs })).toMatchObject({ timedOut: true });
      expect(await guest.beats('freed')).toBe(false);
    });

    test('a caller who leaves ends his command', async () => {
      const leaving = new AbortController();
      const gone = guest.run(`${heart('abandoned')}; sleep 60`, { signal: leaving.signal });
      await guest.appears('abandoned');
      leaving.abort();
      await expect(gone).rejects.toMatchObject({ code: 'cancelled' });
      expect(await guest.beats('abandoned')).toBe(false);
    });

    test('the heartbeat that these tests look for is seen while it beats', async () => {
      const enough = new AbortController();
      const beating = guest.run(`${heart('alive')}; sleep 60`, { signal: enough.signal }).catch((error: SandboxError) => error.code);
      await vi.waitUntil(() => guest.beats('alive'), patience);
      enough.abort();
      expect(await beating).toBe('cancelled');
    });

    test('of output over its limit the beginning and the end are kept, the rest counted, and the program can end', async () => {
      const { outputBytes } = suiteSettings;
      const result = await guest.run('printf begin; head -c 200000 /dev/zero | tr "\\0" .; printf finish; echo end >&2');
      expect(result).toMatchObject({ exitCode: 0, stderr: 'end\n', dropped: { stdout: 200_011 - outputBytes, stderr: 0 } });
      expect(result.stdout).toHaveLength(outputBytes);
      expect(result.stdout).toMatch(/^begin\.+finish$/);
    });

    test('sixteen commands at once neither mix nor disturb each other; the next one is told to come later', async () => {
      const numbers = Array.from({ length: 16 }, (_, index) => index);
      const running = numbers.map((index) => guest.run(`sleep 0.5; echo ${index}; echo ${index} >&2`, { timeoutMs: 20_000 }));
      await expect(guest.run('echo too many')).rejects.toMatchObject({ code: 'busy' });
      const results = await Promise.all(running);
      expect(results.map(({ stdout, stderr }) => [stdout, stderr])).toEqual(numbers.map((index) => [`${index}\n`, `${index}\n`]));
    });
  });

  describe('files', () => {
    beforeAll(() => guest.run(`mkfifo pipe; head -c ${2 * MIB} /dev/zero > large`));

    test('what is uploaded is downloaded, byte for byte, and missing directories are made', async () => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
      await backend.writeFile(guest.handle, guest.at('a/b/c.bin'), bytes);
      expect(Buffer.from(await backend.readFile(guest.handle, guest.at('/workspace/a/b/c.bin'))).equals(bytes)).toBe(true);
      await backend.writeFile(guest.handle, guest.at('a/b/c.bin'), new Uint8Array());
      expect(await backend.readFile(guest.handle, guest.at('a/b/c.bin'))).toHaveLength(0);
    });

    test('a directory is listed by name, with sizes, types and times, up to the limit', async () => {
      await guest.run('mkdir -p listed/sub; printf 12345 > listed/five; ln -s nowhere listed/dangling; touch -d @1000000000 listed/five');
      const { entries, total } = await backend.listFiles(guest.handle, guest.at('listed'), 10);
      const dangling = world.files === 'whole' ? [['dangling', 'file']] : [];
      expect(entries.map(({ name, type }) => [name, type])).toEqual([...dangling, ['five', 'file'], ['sub', 'directory']]);
      expect(total).toBe(entries.length);
      expect(entries.at(-2)).toMatchObject({ size: 5, modifiedAt: 1_000_000_000 });
      const some = await backend.listFiles(guest.handle, guest.at('listed'), 1);
      expect([some.entries.length, some.total]).toEqual([1, total]);
    });

    test('names are listed whatever is in them; what is no UTF-8 with replacement characters', async () => {
      await guest.run(String.raw`mkdir -p odd; cd odd; touch $'new\nline' $'no\xff\xfetext' '"' ' '; printf 12 > $'\xed\xa0\x80'`);
      const { entries, total } = await backend.listFiles(guest.handle, guest.at('odd'), 10);
      expect(total).toBe(5);
      expect(entries.map(({ name, size }) => [name, size])).toEqual([
        [' ', 0],
        ['"', 0],
        ['new\nline', 0],
        ['no\ufffd\ufffdtext', 0],
        ['\ufffd\ufffd\ufffd', 2],
      ]);
      expect(await guest.read('odd/new\nline')).toBe('');
    });

    test('existence is told for files, directories and what is not there', async () => {
      await guest.write('there', 'x');
      const found = await Promise.all(
        ['there', '.', 'not-there', 'there/below'].map((path) => backend.fileExists(guest.handle, guest.at(path))),
      );
      expect(found).toEqual([true, true, false, false]);
    });

    test.each([
      ['reading what is not there', 'no-such-file', (path: string) => backend.readFile(guest.handle, guest.at(path)), 'not-there'],
      ['reading a directory', 'wrong-kind', (path: string) => backend.readFile(guest.handle, guest.at(path)), '.'],
      ['reading a device without end', 'wrong-kind', (path: string) => backend.readFile(guest.handle, guest.at(path)), '/dev/zero'],
      ['reading a pipe that nobody writes to', 'wrong-kind', (path: string) => backend.readFile(guest.handle, guest.at(path)), 'pipe'],
      [
        'writing outside of what is writable',
        'denied',
        (path: string) => backend.writeFile(guest.handle, guest.at(path), text('x')),
        '/usr/x',
      ],
      ['reading more than is allowed', 'too-large', (path: string) => backend.readFile(guest.handle, guest.at(path)), 'large'],
      ['reading what has a name too long', 'invalid', (path: string) => backend.readFile(guest.handle, guest.at(path)), 'x'.repeat(4000)],
      [
        'reading what is deep below what is not there',
        'no-such-file',
        (path: string) => backend.readFile(guest.handle, guest.at(path)),
        'not-there/'.repeat(350),
      ],
      ['listing what is not a directory', 'wrong-kind', (path: string) => backend.listFiles(guest.handle, guest.at(path), 9), 'large'],
      ['listing what is not there', 'no-such-file', (path: string) => backend.listFiles(guest.handle, guest.at(path), 9), 'not-there'],
    ])('%s is refused as %s', async (_what, code, act, path) => {
      await expect(act(path)).rejects.toMatchObject({ code });
    });

    test('writing to a pipe that nobody reads does not wait for ever', async () => {
      await guest.run('mkfifo pipe-in');
      const outcome = await guest.write('pipe-in', 'x').catch((error: SandboxError) => error.code);
      expect(outcome).toBe(world.files === 'whole' ? 'wrong-kind' : undefined);
    });

    test('a link that leads out of the sandbox leads nowhere: the host has no such file there', async () => {
      await guest.run('ln -sfn /etc/shadow shadow; ln -sfn / root; ln -sfn ../../../../../../etc/hostname up; ln -sfn /proc/1/root proc');
      const seen = await Promise.all(
        ['shadow', 'up', 'root/etc/machine-id'].map((path) => guest.read(path).catch((error: SandboxError) => error.code)),
      );
      for (const content of seen) expect(content).not.toContain(hostname());
      expect(world.root === 'image' ? [] : seen.filter((each) => each !== 'no-such-file')).toEqual([]);
      await expect(guest.write('root/usr/bin/evil', 'x')).rejects.toMatchObject({ code: 'denied' });
      const { entries } = await backend.listFiles(guest.handle, guest.at('root'), 100);
      expect(entries.map((entry) => entry.name).includes('root')).toBe(world.root === 'image');
    });

    test('a file that is swapped for a link while it is read gives the one or the other of the sandbox, never anything else', async () => {
      const swapping = guest.run('echo mine > swapped; while :; do ln -sfn /etc/passwd swapped; rm -f swapped; echo mine > swapped; done', {
        timeoutMs: 500,
      });
      const seen = new Set<string>();
      for (let round = 0; round < 100; round += 1) {
        seen.add(await guest.read('swapped').catch((error: SandboxError) => error.code));
      }
      await swapping;
      for (const content of seen)
        expect(content).toMatch(/^(mine\n|root:x:0:0:root:\/root:\/bin\/(ba)?sh\n[^]*sandbox[^]*|no-such-file||denied)$/);
    });
  });

  unless(!world.isolated, describe)('what holds', () => {
    test('code is nobody: no root, no capabilities, no way to gain any, none of the server’s environment', async () => {
      process.env['TOOLYARD_TEST_SECRET'] = 'hunter2';
      const { stdout } = await guest.run(
        'id -u; grep -E "^(CapEff|CapPrm|NoNewPrivs)" /proc/self/status | tr -d "\\t "; env; cat /proc/[0-9]*/environ | tr "\\0" "\\n"',
      );
      expect(stdout).toMatch(/^1000\nCapPrm:0+\nCapEff:0+\nNoNewPrivs:1\n/);
      expect(stdout).not.toContain('hunter2');
      // what a sandbox's first processes were given, as the file tools see it
      for (const path of ['/proc/1/environ', '/proc/self/environ']) {
        const environment = await guest.read(path).catch((error: SandboxError) => error.code);
        expect(environment).not.toContain('hunter2');
        expect(environment).not.toContain(process.cwd());
      }
    });

    test('there is no network: no interface but loopback, no address, no name', async () => {
      const program = [
        'import socket',
        'def attempt(what):',
        '    try: what(); print("reached")',
        '    except OSError as error: print("refused")',
        'for target in [("1.1.1.1", 53), ("169.254.169.254", 80), ("127.0.0.1", 22)]:',
        '    attempt(lambda: socket.create_connection(target, timeout=2))',
        'attempt(lambda: socket.getaddrinfo("example.com", 80))',
        'attempt(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))',
        'attempt(lambda: socket.socketpair(socket.AF_VSOCK, socket.SOCK_STREAM))',
        'attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))',
        'attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))',
        'print([name for _, name in socket.if_nameindex()])',
      ];
      await guest.write('net.py', program.join('\n'));
      expect((await guest.run('python3 net.py')).stdout).toBe(
        `${'refused\n'.repeat(8)}${world.root === 'image' ? "['lo', 'eth0']" : "['lo']"}\n`,
      );
    });

    test('nothing of the host can be written, and nothing private of it read', async () => {
      const places = '/ /usr /usr/bin /etc /opt/toolyard /opt/toolyard/bin /dev /proc/sys/kernel /sys/fs/cgroup';
      const { stdout } = await guest.run(
        `for place in ${places}; do touch $place/x 2>/dev/null && echo wrote $place; done; ls -d /root /home /work /var /run /etc/shadow 2>/dev/null; echo end`,
      );
      const image = '/etc/shadow\n/home\n/root\n/run\n/var\n';
      expect(stdout).toBe(world.root === 'image' ? `${image}end\n` : 'end\n');
    });

    test('a command sees its own processes only, and none of them is the one that serves it', async () => {
      const { stdout } = await guest.run('cat /proc/[0-9]*/cmdline | tr "\\0" " "; for p in /proc/[0-9]*; do readlink $p/exe; done');
      expect(stdout).not.toContain('/opt/toolyard');
      // its own first process it may end: gVisor lets that happen, Linux does not
      await guest.run('kill -9 -1; kill -9 1; kill -9 $$');
      expect(await guest.run('echo still here')).toMatchObject({ exitCode: 0, stdout: 'still here\n' });
    });

    test('what is mounted cannot be unmounted or changed, and no kernel setting can be written', async () => {
      const attempts = [
        'umount /usr',
        'mount -o remount,rw /usr',
        'mount -t tmpfs none /usr',
        'echo 1 > /proc/sys/kernel/core_pattern',
        'echo 0 > /proc/1/oom_score_adj && echo b > /proc/sysrq-trigger',
      ];
      const codes = await Promise.all(attempts.map(async (attempt) => (await guest.run(attempt)).exitCode));
      expect(codes).not.toContain(0);
      // a namespace of one's own may be had in gVisor: even as its root the mounts stay as they are
      const inside = await guest.run(
        "unshare -Urm sh -c 'mount -o remount,rw /usr; touch /usr/x && echo wrote; umount -l /usr && ls /usr'",
      );
      expect(inside.stdout).toBe('');
    });

    unless(world.counted === false, test)('a fork bomb stops at the process limit and dies with its command', async () => {
      const bomb = new Guest(backend, 'sb-fork-bomb', world.placement);
      await bomb.create();
      const program = [
        'import os, time',
        'children = 0',
        'try:',
        '    while True:',
        '        if os.fork() == 0:',
        '            os.setsid(); time.sleep(60)',
        '        children += 1',
        'except OSError: print(children)',
      ];
      const direct = await bomb.run(`python3 -c '${program.join('\n')}'`);
      // gVisor needs more memory for each process than the sandbox has for so many: then it ends, which holds them as well
      expect(direct).toSatisfy(({ stdout, note }: Ran) => note !== undefined || Number(stdout) < suiteLimits.processes);
      await bomb.recreate();
      expect(await bomb.run(':(){ :|:& };: ; sleep 0.5; echo survived', { timeoutMs: 1_500 })).toSatisfy(
        ({ timedOut, stdout, note }: Ran) => timedOut || stdout === 'survived\n' || note !== undefined,
      );
      await bomb.recreate();
      // there is room for processes again
      expect(await bomb.run('for i in {1..40}; do sleep 0.1 & done; wait; echo alive')).toMatchObject({ stdout: 'alive\n', stderr: '' });
      await bomb.delete();
    });

    unless(world.counted === false, test)(
      'files can still be reached when the process limit is used up before the first one was',
      async () => {
        const crowded = new Guest(backend, 'sb-crowded', world.placement);
        await crowded.create();
        const program = [
          'import os, time',
          'while True:',
          '    try:',
          '        if os.fork() == 0: os.execvp("sleep", ["sleep", "60"])',
          '    except OSError: time.sleep(0.01)',
        ];
        const enough = new AbortController();
        const crowding = crowded
          .run(`python3 -c '${program.join('\n')}'`, { signal: enough.signal })
          .catch((error: SandboxError) => error.code);
        const another = () =>
          crowded.run('true').then(
            ({ exitCode }) => exitCode,
            ({ code }: SandboxError) => code,
          );
        await vi.waitUntil(async () => (await another()) !== 0, patience);
        await crowded.write('file', 'content');
        expect(await crowded.read('file')).toBe('content');
        enough.abort();
        expect(await crowding).toBe('cancelled');
        await crowded.delete();
      },
    );

    unless(world.counted === false, test)(
      'a memory bomb is killed, says why, and the next command finds a working sandbox or an honest end',
      async () => {
        const bomb = new Guest(backend, 'sb-memory-bomb', world.placement);
        await bomb.create();
        const result = await bomb.run("echo before; python3 -c 'x = []\nwhile True: x.append(bytearray(10_000_000))'");
        expect(result).toMatchObject({ exitCode: 137, stdout: 'before\n', note: expect.stringContaining('out of memory') as string });
        await bomb.recreate();
        const many =
          "python3 - <<'END'\nimport os\nfor _ in range(8):\n    if os.fork() == 0:\n        x = []\n        while True: x.append(bytearray(10_000_000))\nfor _ in range(8): os.wait()\nprint('parent lives')\nEND";
        expect((await bomb.run(many)).note).toContain('out of memory');
        await bomb.recreate();
        expect(await bomb.run('echo alive')).toMatchObject({ stdout: 'alive\n' });
        await bomb.delete();
      },
    );

    test('a disk bomb fills its own places and nothing else; what is freed can be used again', async () => {
      const { stdout } = await guest.run(
        'for place in /workspace /tmp /dev/shm; do cat /dev/zero > $place/bomb-1; cat /dev/zero > $place/bomb-2; stat -c %s $place/bomb-* | paste -sd+ | bc; done 2>/dev/null',
      );
      for (const bytes of stdout.trim().split('\n').map(Number)) expect(bytes).toBeLessThanOrEqual(suiteLimits.diskBytes);
      await expect(guest.write('more', 'x'.repeat(4096))).rejects.toMatchObject({ code: 'disk-full' });
      await guest.run('rm /workspace/bomb-* /tmp/bomb-* /dev/shm/bomb-*');
      await guest.write('more', 'x'.repeat(4096));
    });

    test('sandboxes do not see each other’s files or processes', async () => {
      const other = new Guest(backend, 'sb-other', world.placement);
      await other.create();
      await guest.write('secret', 'mine');
      const sleeping = guest.run('exec -a visible sleep 0.5');
      expect(await other.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).toSatisfy(({ stdout }: Ran) => !stdout.includes('visible sleep'));
      expect((await other.run('ls /workspace')).stdout).toBe('');
      await other.delete();
      await sleeping;
    });
  });

  describe('life', () => {
    test('a sandbox is listed from its start on, ready when commands can run, and gone when deleted', async () => {
      const short = new Guest(backend, 'sb-life', world.placement);
      const creating = short.create();
      expect((await backend.list()).map(({ handle }) => handle)).toContain(short.handle);
      await creating;
      expect(await backend.find(short.handle)).toMatchObject({ state: 'ready', owner: 'owner' });
      const running = short.run('sleep 60', { timeoutMs: 20_000 }).catch((error: SandboxError) => error.code);
      await short.delete();
      expect(await running).toBe('ended');
      expect((await backend.list()).map(({ handle }) => handle)).not.toContain(short.handle);
      await expect(short.run('true')).rejects.toMatchObject({ code: 'ended' });
      await expect(new Guest(backend, 'sb-never', world.placement).run('true')).rejects.toMatchObject({ code: 'not-found' });
    });

    test('a sandbox ends at its deadline, with what runs in it, and says so', async () => {
      const brief = new Guest(backend, 'sb-brief', world.placement);
      await brief.create();
      await backend.renew(brief.handle, Date.now() + 400);
      await expect(brief.run('sleep 60', { timeoutMs: 30_000 })).rejects.toMatchObject({
        code: 'ended',
        message: expect.stringContaining('its time was over') as string,
      });
      expect(await backend.find(brief.handle)).toMatchObject({ state: 'ended' });
    });

    test('a deadline that is put off is not kept to', async () => {
      const renewed = new Guest(backend, 'sb-renewed', world.placement);
      await renewed.create(Date.now() + 1_000);
      await backend.renew(renewed.handle, Date.now() + 60_000);
      expect(await renewed.run('sleep 1.1; echo still here')).toMatchObject({ stdout: 'still here\n' });
      await renewed.delete();
    });

    test('eight sandboxes at once start, work apart from each other and end', async () => {
      const many = Array.from({ length: 8 }, (_, index) => new Guest(backend, `sb-many-${index}`, world.placement));
      await Promise.all(many.map((each) => each.create()));
      await Promise.all(many.map((each, index) => each.write('number', `${index}`)));
      const results = await Promise.all(many.map((each) => each.run('echo $(($(cat number) * 2))')));
      expect(results.map(({ stdout }) => stdout)).toEqual(many.map((_, index) => `${index * 2}\n`));
      await Promise.all(many.map((each) => each.delete()));
      expect((await backend.list()).map(({ handle }) => handle)).toEqual([guest.handle]);
    });

    test('the same order twice is one sandbox', async () => {
      const once = new Guest(backend, 'sb-once', world.placement);
      await Promise.all([once.create(), once.create()]);
      expect((await backend.list()).filter(({ handle }) => handle === once.handle)).toHaveLength(1);
      await once.delete();
    });

    test('a start whose caller leaves leaves nothing behind', async () => {
      const late = new Guest(backend, 'sb-late', world.placement);
      await expect(backend.create({ ...late.order(), signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
      expect((await backend.list()).map(({ handle }) => handle)).not.toContain(late.handle);
    });

    test('a start goes on for the retry when the first caller leaves, and a retry that is given up takes nothing away', async () => {
      const retried = new Guest(backend, 'sb-retried', world.placement);
      const leaving = new AbortController();
      const first = backend.create({ ...retried.order(), signal: leaving.signal });
      const retry = backend.create(retried.order());
      leaving.abort();
      await expect(first).rejects.toMatchObject({ code: 'cancelled' });
      expect(await retry).toMatchObject({ state: 'ready' });
      await expect(backend.create({ ...retried.order(), signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
      expect(await retried.run('echo there')).toMatchObject({ stdout: 'there\n' });
      await retried.delete();
    });

    test('a sandbox that is deleted while it starts is gone, and its caller told', async () => {
      const brief = new Guest(backend, 'sb-unborn', world.placement);
      const creating = backend.create(brief.order()).catch((error: SandboxError) => error.code);
      await brief.delete();
      expect(await creating).toBe('ended');
      expect((await backend.list()).map(({ handle }) => handle)).not.toContain(brief.handle);
    });

    test('what a backend says of itself fits what it is set to', () => {
      expect(backend.ready()).toEqual({ ready: true });
      expect(backend.describe()).toMatchObject({
        limits: { ...(world.limits ?? suiteLimits), outputBytes: suiteSettings.outputBytes, fileBytes: suiteSettings.fileBytes },
      });
      expect(backend.describe().languages.map((language) => language.name)).toEqual(['python', 'javascript', 'typescript', 'bash']);
    });
  });
}

interface Ran extends Omit<CommandResult, 'stdout' | 'stderr'> {
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** One sandbox, in short words. */
export class Guest {
  readonly handle: string;
  readonly #backend: SandboxBackend;

  readonly #placement: Placement;

  constructor(backend: SandboxBackend, handle: string, placement = defaultPlacement) {
    this.#backend = backend;
    this.handle = handle;
    this.#placement = placement;
  }

  order(shutdownAt = Date.now() + 300_000): SandboxOrder {
    const lifetime = { createdAt: Date.now(), idleMs: 300_000, shutdownAt };
    return {
      handle: this.handle,
      owner: 'owner',
      placement: this.#placement,
      lifetime,
      readyTimeoutMs: 30_000,
      signal: never,
    };
  }

  async create(shutdownAt?: number): Promise<void> {
    await this.#backend.create(this.order(shutdownAt));
  }

  /** A new one if the old one ended. */
  async recreate(): Promise<void> {
    await this.create();
  }

  delete(): Promise<void> {
    return this.#backend.delete(this.handle);
  }

  async run(command: string, { timeoutMs = 15_000, signal = never } = {}): Promise<Ran> {
    const startedAt = performance.now();
    const result = await this.#backend.execute(this.handle, { command, timeoutMs, signal });
    const printed = { stdout: Buffer.from(result.stdout).toString(), stderr: Buffer.from(result.stderr).toString() };
    return { ...result, ...printed, ms: performance.now() - startedAt };
  }

  write(path: string, content: string): Promise<void> {
    return this.#backend.writeFile(this.handle, this.at(path), text(content));
  }

  async read(path: string): Promise<string> {
    return Buffer.from(await this.#backend.readFile(this.handle, this.at(path))).toString();
  }

  /** Waits until there is such a file, which takes a command that runs at the same time. */
  async appears(path: string): Promise<void> {
    const deadline = performance.now() + patience.timeout;
    while (!(await this.#backend.fileExists(this.handle, this.at(path)))) {
      if (performance.now() > deadline) throw new Error(`${path} did not appear in ${this.handle}`);
    }
  }

  /** Several times as long as a command takes that ends by itself, on this machine as busy as it is. */
  async timeFor(command: string): Promise<number> {
    return 200 + 3 * (await this.run(command)).ms;
  }

  /** How many the sandbox has, as its file tools see it. */
  async processes(): Promise<number> {
    const { entries } = await this.#backend.listFiles(this.handle, this.at('/proc'), 1_000);
    return entries.filter(({ name }) => /^\d+$/.test(name)).length;
  }

  /** Whether any of these hearts still beats. */
  async beats(...names: readonly string[]): Promise<boolean> {
    const { stdout } = await this.run(
      `before=$(cat ${names.join(' ')}); sleep 0.2; [ "$before" = "$(cat ${names.join(' ')})" ] || echo beats`,
    );
    return stdout === 'beats\n';
  }

  at(path: string): { path: string; timeoutMs: number; signal: AbortSignal } {
    return { path, timeoutMs: 10_000, signal: never };
  }
}

/** Starts, in a session of its own, something that rewrites a file fifty times a second until it is killed. */
function heart(name: string): string {
  return `(setsid bash -c 'while :; do date +%N > ${name}; sleep 0.02; done' >/dev/null 2>&1 &)`;
}

function text(content: string): Uint8Array {
  return Buffer.from(content);
}
