import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** Whether its window is wide, and which colours its user prefers. */
export interface Look {
  /** CSS pixels */
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

export interface Browser {
  open(url: string): Promise<void>;
  look(look: Look): Promise<void>;
  /** The value of an expression in the page, which may be a promise of JSON. @throws what it throws */
  evaluate<T>(expression: string): Promise<T>;
  /** Types into whatever has the focus. */
  type(text: string): Promise<void>;
  /** One key as the keyboard sends it: `Tab`, `Enter`, `/`. */
  press(key: string): Promise<void>;
  /** PNG */
  screenshot(): Promise<Buffer>;
  /** everything that the console showed as an error and that a policy forbade, since the last call */
  complaints(): readonly string[];
  close(): Promise<void>;
}

/** A browser that cannot answer within this has died or hangs. */
const PATIENCE_MS = 30_000;

/** The program; set CHROMIUM to take another of its kind. */
export const chromium = process.env['CHROMIUM'] ?? 'chromium';

/**
 * A headless chromium with one window, driven over its DevTools pipe. It is ended with everything that it started.
 * @throws Error when there is none
 */
export async function startBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'toolyard-browser-'));
  const quiet = [
    '--no-first-run',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
  ];
  // its own sandbox refuses to run as root; it sees nothing here but our pages
  const options = ['--headless', '--no-sandbox', '--hide-scrollbars', '--remote-debugging-pipe', `--user-data-dir=${profile}`, ...quiet];
  const child = spawn(chromium, [...options, 'about:blank'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  await Promise.race([once(child, 'spawn'), once(child, 'error').then(([error]) => Promise.reject(error as Error))]);
  const devTools = new DevTools(child);
  const close = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await gone;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return await browserOf(devTools, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function browserOf(devTools: DevTools, close: () => Promise<void>): Promise<Browser> {
  const { targetInfos } = await devTools.send<{ targetInfos: { targetId: string; type: string }[] }>('Target.getTargets');
  const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId;
  const { sessionId } = await devTools.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
  const send = <T>(method: string, params: object = {}) => devTools.send<T>(method, params, sessionId);
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`);

  let complaints: string[] = [];
  devTools.on('Log.entryAdded', ({ entry }) => {
    const { level, text } = entry as { level: string; text: string };
    if (level === 'error') complaints.push(text);
  });
  devTools.on('Runtime.exceptionThrown', (event) => complaints.push(JSON.stringify(event['exceptionDetails'])));
  devTools.on('Runtime.consoleAPICalled', ({ type, args }) => {
    if (type === 'error') complaints.push(JSON.stringify(args));
  });

  const key = async (type: string, params: object) => send('Input.dispatchKeyEvent', { type, ...params });
  return {
    open: async (url) => {
      const loaded = devTools.next('Page.loadEventFired');
      await send('Page.navigate', { url });
      await loaded;
    },
    look: async ({ width, height, scheme }) => {
      await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
      await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    },
    evaluate: async <T>(expression: string) => {
      const answer = await send<{ result: { value: T }; exceptionDetails?: unknown }>('Runtime.evaluate', {
        expression,
        awaitPromise: true,
        returnByValue: true,
      });
      if (answer.exceptionDetails !== undefined) throw new Error(JSON.stringify(answer.exceptionDetails));
      return answer.result.value;
    },
    type: async (text) => {
      for (const character of text) await key('char', { text: character });
    },
    press: async (name) => {
      const known = keys[name] ?? { text: name };
      await key(known.text === undefined ? 'rawKeyDown' : 'keyDown', { key: name, ...known });
      await key('keyUp', { key: name, ...known });
    },
    screenshot: async () => Buffer.from((await send<{ data: string }>('Page.captureScreenshot')).data, 'base64'),
    complaints: () => {
      const heard = complaints;
      complaints = [];
      return heard;
    },
    close,
  };
}

/** What a browser wants to know of a key besides its name. */
const keys: Readonly<Record<string, { readonly windowsVirtualKeyCode: number; readonly code: string; readonly text?: string }>> = {
  Tab: { windowsVirtualKeyCode: 9, code: 'Tab' },
  Enter: { windowsVirtualKeyCode: 13, code: 'Enter', text: '\r' },
};

type Event = Readonly<Record<string, unknown>>;

/** JSON messages, each ended by NUL, on file descriptors 3 and 4. */
class DevTools {
  readonly #out: Writable;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #listeners = new Map<string, ((event: Event) => void)[]>();
  #last = 0;

  constructor({ stdio }: ChildProcess) {
    this.#out = stdio[3] as Writable;
    this.#out.on('error', () => undefined);
    let rest = '';
    (stdio[4] as Readable).setEncoding('utf8').on('data', (chunk: string) => {
      const messages = `${rest}${chunk}`.split('\0');
      rest = messages.pop() ?? '';
      for (const message of messages) this.#heard(JSON.parse(message) as Message);
    });
  }

  send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = (this.#last += 1);
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#out.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return within(answer.promise, method) as Promise<T>;
  }

  on(method: string, listener: (event: Event) => void): void {
    this.#listeners.set(method, [...(this.#listeners.get(method) ?? []), listener]);
  }

  next(method: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.on(method, () => resolve());
    return within(promise, method);
  }

  #heard({ id, method, params = {}, result, error }: Message): void {
    if (method !== undefined) for (const listener of this.#listeners.get(method) ?? []) listener(params);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Event;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`the browser did not do ${what} within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
