import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { valueRows } from '../cdk8s/values-docs.ts';
import { describeConfig } from '../lib/config.ts';
import { config as operatorConfig } from '../operator/config.ts';
import { fetchConfig } from '../mcp-servers/fetch/config.ts';
import { registryConfig } from '../mcp-servers/registry/config.ts';
import { sandboxConfig } from '../mcp-servers/sandbox/config.ts';
import { allowedDifferences } from '../test/differential/differences.ts';
import { differences } from '../test/differential/fetch/differences.ts';

/**
 * Writes anew what stands in some pages between the comments "written by `make docs` from FILE" and "end". With --check it says instead which
 * pages are stale, with exit code 1 for any.
 */
const pages = ['docs/configuration.md', 'docs/differential.md', 'docs/kubernetes.md', 'mcp-servers/fetch/README.md'] as const;

const written: Readonly<Record<string, string>> = {
  'mcp-servers/registry/config.ts': settings(registryConfig),
  'mcp-servers/fetch/config.ts': settings(fetchConfig),
  'mcp-servers/sandbox/config.ts': settings(sandboxConfig),
  'operator/config.ts': settings(operatorConfig),
  'cdk8s/values.ts': table(
    ['value', 'default', 'meaning'],
    valueRows().map(({ name, initial, description }) => [`\`${name}\``, `\`${initial}\``, description]),
  ),
  'test/differential/differences.ts': table(
    ['what', 'official', 'embedded', 'why'],
    allowedDifferences.map(({ what, official, embedded, why }) => [what, official, embedded, why]),
  ),
  'test/differential/fetch/differences.ts': table(
    ['what', 'mcp-server-fetch', 'here', 'why'],
    differences.map(({ what, incumbent, here, why }) => [what, incumbent, here, why]),
  ),
};

const check = process.argv.includes('--check');
const missing = new Set(Object.keys(written));
for (const name of pages) {
  const path = join(import.meta.dirname, '..', name);
  const text = readFileSync(path, 'utf8');
  const wanted = text.replaceAll(/(<!-- written by `make docs` from (\S+) -->)[^]*?(<!-- end -->)/g, (_all, begin, file, end) => {
    missing.delete(String(file));
    return `${begin}\n\n${written[String(file)] ?? ''}\n\n${end}`;
  });
  if (!check) writeFileSync(path, wanted);
  else if (text !== wanted) fail(`${name} is stale: run \`make docs\` and commit it`);
}
for (const file of missing) fail(`no page has the comments between which the table of ${file} belongs`);

function settings(schema: z.ZodObject): string {
  const rows = describeConfig(schema).map(({ name, initial, description }) => [`\`${name}\``, initial, description]);
  return table(['variable', 'default', 'meaning'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const [top, ...others] = [head, ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`);
  return [top, `|${'---|'.repeat(head.length)}`, ...others].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
