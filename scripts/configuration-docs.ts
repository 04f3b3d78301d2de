import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { describeConfig } from '../lib/config.ts';
import { config as operator } from '../operator/config.ts';
import { fetchConfig } from '../mcp-servers/fetch/config.ts';
import { registryConfig } from '../mcp-servers/registry/config.ts';
import { sandboxConfig } from '../mcp-servers/sandbox/config.ts';

/** Writes docs/configuration.md from the schemas; with --check says whether it is up to date instead (exit code 1 when not). */
const processes: readonly { readonly title: string; readonly run: string; readonly schema: z.ZodObject }[] = [
  { title: 'Embedded registry', run: 'node mcp-servers/registry/main.ts', schema: registryConfig },
  { title: 'Fetch server', run: 'node mcp-servers/fetch/main.ts', schema: fetchConfig },
  { title: 'Sandbox server', run: 'node mcp-servers/sandbox/main.ts', schema: sandboxConfig },
  { title: 'Operator', run: 'node operator/main.ts', schema: operator },
];

const page = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));
const wanted = [
  '# Configuration',
  '',
  'Each process reads its settings from the environment and prints them with `--help`. A wrong value stops it at the start (exit code 2) with the',
  "variable's name, what it got and what it accepts; every wrong one is named at once. An empty variable counts as unset.",
  '',
  '`toolyard up` sets most of these itself; its own options are in `toolyard up --help`. What it does not set is taken from the environment.',
  '',
  '_Generated from the schemas by `make docs`; edit the descriptions there._',
  '',
  ...processes.flatMap(({ title, run, schema }) => [`## ${title}`, '', `\`${run}\``, '', tableOf(schema), '']),
].join('\n');

if (!process.argv.includes('--check')) writeFileSync(page, wanted);
else if (readFileSync(page, 'utf8') !== wanted) {
  process.stderr.write('docs/configuration.md is stale: run `make docs` and commit it\n');
  process.exitCode = 1;
}

function tableOf(schema: z.ZodObject): string {
  const rows = describeConfig(schema).map(({ name, initial, description }) => `| \`${name}\` | ${cell(initial)} | ${cell(description)} |`);
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}
