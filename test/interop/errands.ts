import { expect } from 'vitest';
import type { Call, Result } from './visit.ts';

/** What every client is sent to do, and what it is to see. */

const paragraph = 'Grüße an alle, mit 漢字 und 😀 darin, damit jede Kodierung auf dem Weg zu sehen ist. '.repeat(4).trim();

/** The page that is fetched, and what is left of it as Markdown. */
export const html = `<!doctype html><html lang="de"><head><title>Grüße</title></head><body><nav>menu</nav><article><h1>Grüße</h1><p>${paragraph}</p></article></body></html>`;
export const markdown = `# Grüße\n\n${paragraph}`;

export interface Errand {
  readonly call: Call;
  readonly result: Result;
}

export function readPage(url: string): Errand {
  return errand('fetch', { url }, { text: `Contents of ${url}:\n${markdown}` });
}

/** The discard port of this machine: no public address, and not among those allowed. */
export const readPrivate = errand(
  'fetch',
  { url: 'http://127.0.0.1:9/' },
  { isError: true, text: expect.stringContaining('in FETCH_ALLOW_ORIGINS') },
);

export function readNothing(url: string): Errand {
  return errand('fetch', { url, max_length: 0 }, { isError: true, text: expect.stringContaining('max_length') });
}

const fibonacci = 'def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n\nprint(fib(15))  # 漢字, 😀\n';
const shownLine = 'print(fib(15))  # 漢字, 😀';
const ran = { exit_code: 0, stdout: '610\n', stderr: '', timed_out: false };

export const runFibonacci = gives(
  'run_code',
  { language: 'python', code: fibonacci },
  {
    ...ran,
    duration_ms: expect.any(Number),
    files: [],
    isolation: expect.any(String),
  },
);

export const sandboxTools = [
  'create_sandbox',
  'delete_file',
  'delete_sandbox',
  'download_file',
  'execute_command',
  'file_exists',
  'get_sandbox_config',
  'get_sandbox_status',
  'list_files',
  'list_sandboxes',
  'make_directory',
  'move_file',
  'run_code',
  'search_files',
  'upload_file',
];

export function makeSandbox(key: string): Call {
  return { name: 'create_sandbox', arguments: { idempotency_key: key } };
}

/** Every tool once at least, in a sandbox that {@link makeSandbox} made; it is gone afterwards. */
export function useSandbox(key: string, name: string): readonly Errand[] {
  const own = { sandbox_claim_name: name };
  const size = Buffer.byteLength(fibonacci);
  const file = { name: 'fib.py', size, type: 'file', mod_time: expect.any(Number) };
  const failing = { ...ran, exit_code: 3, stdout: '', stderr: 'gone\n' };
  return [
    gives('get_sandbox_config', {}, expect.objectContaining({ ready: true, workspace: '/workspace' })),
    runFibonacci,
    { ...gives('create_sandbox', {}, { ...own, shutdown_time: expect.any(String) }), call: makeSandbox(key) },
    gives('get_sandbox_status', own, { status: 'SandboxReady', ready: true, message: expect.any(String) }),
    gives('upload_file', { ...own, path: 'fib.py', content: fibonacci }, { bytes_written: size }),
    gives('execute_command', { ...own, command: 'python3 fib.py' }, ran),
    gives('execute_command', { ...own, command: 'echo gone >&2; exit 3' }, failing),
    gives('file_exists', { ...own, path: 'nothing' }, { exists: false }),
    gives('list_files', { ...own, path: '.' }, { entries: [file], total_entries: 1, truncated: false }),
    gives('download_file', { ...own, path: 'fib.py' }, { content: fibonacci, bytes_read: size }),
    gives('search_files', { ...own, pattern: '^print' }, { matches: [{ path: './fib.py', line: 5, text: shownLine }], truncated: false }),
    errand('make_directory', { ...own, path: 'kept' }, { text: 'done' }),
    errand('move_file', { ...own, path: 'fib.py', to: 'kept/fib.py' }, { text: 'done' }),
    errand('delete_file', { ...own, path: 'kept', recursive: true }, { text: 'done' }),
    gives('list_sandboxes', {}, { sandboxes: expect.arrayContaining([expect.objectContaining({ ...own, ready: true })]) }),
    errand('delete_sandbox', own, { text: 'done' }),
    errand('execute_command', { ...own, command: 'id' }, { isError: true, text: expect.stringMatching(/^ended: .*create_sandbox/) }),
  ];
}

function errand(name: string, given: Record<string, unknown>, result: Partial<Result>): Errand {
  return { call: { name, arguments: given }, result: { isError: false, structured: null, text: '', ...result } };
}

/** A structured result, which clients that know none read as text. */
function gives(name: string, given: Record<string, unknown>, structured: Record<string, unknown>): Errand {
  return errand(name, given, { structured, text: expect.toSatisfy((text: string) => typeof JSON.parse(text) === 'object') });
}
