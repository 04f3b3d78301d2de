import { Bytes } from '../../../lib/bytes.ts';
import { withTypeScript } from '../languages.ts';
import { commandLine } from './commands.ts';
import type { Runtime } from './runtime.ts';

/** What every sandbox of one pool can do. */
export interface Ability {
  readonly languages: readonly { readonly name: string; readonly version: string }[];
  /** commands can be given process trees of their own, which end with them */
  readonly ownTree: boolean;
}

const LIMIT_MS = 10_000;
const MAX_ANSWER_BYTES = 4 * 1024;

/** One line each, as the programs say it themselves. */
const versions = [
  { name: 'python', command: 'python3 --version', pattern: /^Python (\S{1,32})$/m },
  { name: 'javascript', command: 'echo "Node $(node --version)"', pattern: /^Node v(\S{1,32})$/m },
  { name: 'bash', command: 'echo "bash $BASH_VERSION"', pattern: /^bash (\d[\d.]{0,31})/m },
] as const;

/** Asks a sandbox that nobody has used yet. @throws RuntimeFault */
export async function learnAbility(runtime: Runtime, signal: AbortSignal): Promise<Ability> {
  const command = `{ ${versions.map((each) => each.command).join('; ')}; } 2>&1`;
  for (const ownTree of [true, false]) {
    const said = new Bytes();
    const code = await runtime.run({
      argv: commandLine(command, LIMIT_MS, ownTree),
      input: new Uint8Array(),
      signal,
      onOutput: (_, bytes) => said.add(bytes.subarray(0, MAX_ANSWER_BYTES - said.length)),
    });
    const languages = languagesIn(said.all.toString('utf8'));
    if (code === 0 && languages.length > 0) return { languages, ownTree };
  }
  return { languages: [], ownTree: false };
}

export function languagesIn(text: string): Ability['languages'] {
  const languages = versions.flatMap(({ name, pattern }) => {
    const version = pattern.exec(text)?.[1];
    return version === undefined ? [] : [{ name, version }];
  });
  return withTypeScript(languages);
}
