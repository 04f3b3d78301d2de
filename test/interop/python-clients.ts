import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { McpClient, Seen } from './visit.ts';

const VISIT_TIMEOUT_MS = 50_000;
const folder = join(import.meta.dirname, 'python');

/** By the requirements file in python/ that has their packages. */
const programs = {
  'sdk-v2.txt': [
    { name: 'the Python SDK v2', revision: '2025-11-25', program: ['sdk-v2.py', 'legacy'] },
    { name: 'the Python SDK v2', revision: '2026-07-28', program: ['sdk-v2.py', 'auto'] },
  ],
  'langchain-adapter.txt': [
    { name: 'the Python SDK v1', revision: '2025-11-25', program: ['sdk-v1.py'] },
    { name: 'LangChain’s adapter', revision: '2025-11-25', program: ['langchain-adapter.py'] },
  ],
} as const;

type Requirements = keyof typeof programs;

export function requirements(file: Requirements): string {
  return join(folder, file);
}

/** @param python one that has the packages of `file` */
export function pythonClients(python: string, file: Requirements): readonly McpClient[] {
  return programs[file].map(({ name, revision, program: [script, ...args] }) => ({
    name,
    revision,
    visit: (visit) => run([python, join(folder, script), ...args], JSON.stringify(visit)),
  }));
}

/** @throws Error with what the program said when it fails */
function run([python, ...args]: readonly [string, ...string[]], input: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const child = execFile(python, args, { timeout: VISIT_TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Seen);
      else reject(new Error(`${args.join(' ')} failed: ${stderr}`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}
