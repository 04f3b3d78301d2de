import { shellWord, visibleText } from '../../../lib/connect.ts';
import type { Argument, KeyValueInput, Package } from '../../../lib/registry-api/server-json.ts';

/** How each of these is told to run a package. Another program that a record names is not made into a command. */
const runners: Readonly<Record<string, readonly string[]>> = {
  npx: ['npx', '-y'],
  bunx: ['bunx'],
  uvx: ['uvx'],
  docker: ['docker', 'run', '-i', '--rm'],
  dnx: ['dnx', '--yes'],
};

const usual: Readonly<Record<string, string>> = { npm: 'npx', pypi: 'uvx', oci: 'docker', nuget: 'dnx' };

/** The command that runs a package, with placeholders `<NAME>` for what the user has to fill in; undefined where none is known. */
export function runLine(entry: Package): string | undefined {
  const runner = entry.runtimeHint ?? own(usual, entry.registryType) ?? '';
  const start = own(runners, runner);
  if (start === undefined) return undefined;
  const variables = (entry.environmentVariables ?? []).filter(isNeeded);
  const inside = runner === 'docker' ? variables.flatMap((variable) => ['-e', assignment(variable)]) : [];
  const before = runner === 'docker' ? [] : variables.map(assignment);
  const words = [
    ...start,
    ...inside,
    ...(entry.runtimeArguments ?? []).flatMap(wordsOf),
    packageWord(entry),
    ...(entry.packageArguments ?? []).flatMap(wordsOf),
  ];
  return [...before.map(shellAssignment), ...words.map((word) => shellWord(visibleText(word)))].join(' ');
}

/** Never what every object has. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function packageWord({ registryType, identifier, version }: Package): string {
  if (version === undefined) return identifier;
  if (registryType !== 'oci') return `${identifier}@${version}`;
  const hasTag = /[:@][^/]*$/.test(identifier);
  return hasTag ? identifier : `${identifier}:${version}`;
}

function assignment(input: KeyValueInput): string {
  return `${input.name}=${valueOf(input, input.name)}`;
}

/** The name is no part of the quoted word, or a shell would not see an assignment. */
function shellAssignment(text: string): string {
  const [name = '', ...value] = visibleText(text).split('=');
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `${name}=${shellWord(value.join('='))}` : shellWord(visibleText(text));
}

/** What a user has to give, or the record gives. */
export function isNeeded({ isRequired, value }: Pick<KeyValueInput, 'isRequired' | 'value'>): boolean {
  return isRequired === true || (value !== undefined && value !== '');
}

/** The record's own value, or a placeholder. */
export function valueOf({ value, default: fallback }: Pick<KeyValueInput, 'value' | 'default'>, name: string): string {
  return [value, fallback].find((text) => text !== undefined && text !== '') ?? `<${name}>`;
}

/** A named argument without any value is a flag. */
function wordsOf(argument: Argument): readonly string[] {
  if (!isNeeded(argument)) return [];
  const { type, name = '', valueHint = '' } = argument;
  const value = valueOf(argument, valueHint);
  if (type !== 'named') return [value === '<>' ? '<value>' : value];
  return value === '<>' ? [name] : [name, value];
}
