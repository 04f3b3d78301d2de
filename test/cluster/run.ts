import { spawn } from 'node:child_process';

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** after which it is killed @default never */
  readonly timeoutMs?: number;
}

/**
 * Runs a program to its end and returns what it printed.
 * @throws Error with its exit code and everything it printed to stderr
 */
export async function run(program: string, args: readonly string[], { input = '', env, timeoutMs }: RunOptions = {}): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, ...(timeoutMs !== undefined && { timeout: timeoutMs }) });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => {}).end(input);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.once('error', reject).once('close', (code, signal) => {
    if (code === 0) resolve(stdout);
    else reject(new Error(`${program} ${args.join(' ')}: ended with ${code ?? signal}\n${stderr}${stdout}`));
  });
  return promise;
}
