import { SandboxError } from './backend.ts';

/** Where commands start, in every sandbox. */
export const WORKSPACE = '/workspace';

/** One word of a shell's command line, whatever is in it. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

export interface Surroundings {
  /** where the command starts, in place of the workspace */
  readonly cwd?: string | undefined;
  /** variables it sees beside those of the sandbox */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** path of a file with its standard input, which is removed before the command runs */
  readonly stdin?: string | undefined;
}

/**
 * A command line that runs in other surroundings. Where they cannot be had the command does not run, and the exit code is 1.
 * @throws SandboxError `invalid` for a NUL character, which no command line can hold
 */
export function commandIn(command: string, { cwd, env = {}, stdin }: Surroundings): string {
  const steps = [
    ...(stdin === undefined ? [] : [`exec < ${quoted(stdin)}`, `rm -f ${quoted(stdin)}`]),
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...(cwd === undefined ? [] : [`cd -- ${quoted(cwd)}`]),
  ];
  const line = steps.length === 0 ? command : `${steps.join(' && ')} || exit 1\n${command}`;
  if (!line.includes('\0')) return line;
  throw new SandboxError('invalid', 'the command, its cwd or its env has a NUL character, which no command line can hold; remove it');
}
