import { shorten } from './fault.ts';
import { goQuote, hostnameOf, parseGoUrl, type GoUrl } from './go-url.ts';
import type { Argument, Package, Repository, ServerJson, Transport } from './server-json.ts';
import { SCHEMA_URL } from './server-json.ts';
import { fillTemplate, templateVariables } from './url-template.ts';

/** One breach of a rule that the registry checks in code, after the shape of the document. */
export interface SemanticFault {
  readonly stage: 'semantic';
  readonly path: string;
  readonly message: string;
  /** the rule's name in the registry's `/validate` answers */
  readonly reference: string;
  readonly severity: 'error' | 'warning';
}

/** A document of which any part may be missing: what is left when the parts of the wrong shape are taken out. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly Draft<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Draft<T[Key]> | undefined }
    : T;

export interface SemanticOptions {
  /** http remotes and loopback hosts pass: for a registry on one's own machine only, the official one refuses them */
  readonly allowLocalRemotes?: boolean;
}

type Faults = Generator<SemanticFault, void>;

/** The versions of the server.json schema that the registry knows; older ones than the current are accepted with a warning. */
const SCHEMA_VERSIONS: ReadonlySet<string> = new Set(['2025-07-09', '2025-09-16', '2025-09-29', '2025-10-11', '2025-10-17', '2025-12-11']);

/**
 * The registry's code checks in its own order and words.
 * Source: modelcontextprotocol/registry v1.8.8 internal/validators, checked against the running registry in test/differential.
 */
export function* semanticFaults(server: Draft<ServerJson>, options: SemanticOptions): Faults {
  yield* schemaFaults(textOf(server.$schema));
  yield* nameFaults(textOf(server.name));
  yield* versionFaults('version', textOf(server.version));
  yield* repositoryFaults('repository', server.repository);
  yield* websiteFaults('websiteUrl', textOf(server.websiteUrl));
  yield* titleFaults('title', textOf(server.title));
  yield* each('icons', server.icons, (path, icon) => iconFaults(`${path}.src`, textOf(icon.src)));
  yield* each('packages', server.packages, packageFaults);
  yield* each('remotes', server.remotes, (path, remote) => remoteFaults(path, remote, options));
}

function* each<Item>(path: string, items: readonly Item[] | undefined, faults: (path: string, item: Item) => Faults): Faults {
  for (const [index, item] of (items ?? []).entries()) yield* faults(`${path}[${index}]`, item);
}

/** The registry does not tell an absent text from an empty one. */
function textOf(value: string | undefined): string {
  return value ?? '';
}

function fault(path: string, message: string, reference: string): SemanticFault {
  return { stage: 'semantic', path, message: shorten(message), reference, severity: 'error' };
}

function* schemaFaults(schema: string): Faults {
  // A missing one is a fault of the shape.
  if (schema === '') return;
  const version = versionOfSchema(schema);
  if (version === undefined) {
    const message = `failed to extract schema version from URL: invalid schema URL format: ${schema}`;
    yield fault('schema', message, 'schema-version-extraction-error');
    return;
  }
  if (schema !== SCHEMA_URL) {
    const message = `schema version ${version} is not the current version (${versionOfSchema(SCHEMA_URL)}). Consider updating to the latest schema version`;
    yield { ...fault('schema', message, 'schema-version-deprecated'), severity: 'warning' };
  }
  if (!SCHEMA_VERSIONS.has(version)) {
    const message = `schema version ${version} not available: schema version ${version} not found in embedded schemas: open schemas/${version}.json: file does not exist`;
    yield fault('schema', message, 'schema-version-not-available');
  }
}

/** The host of a schema's URL is not looked at. */
function versionOfSchema(schema: string): string | undefined {
  return /\/schemas\/([A-Za-z0-9_~.-]+)\/server\.schema\.json/.exec(schema)?.[1];
}

function* nameFaults(name: string): Faults {
  const message = nameFault(name);
  if (message !== undefined) yield fault('name', message, 'invalid-server-name');
}

function nameFault(name: string): string | undefined {
  if (name === '') return 'server name is required and must be a string';
  const [namespace = '', part, ...more] = name.split('/');
  if (part === undefined) return "server name must be in format 'dns-namespace/name' (e.g., 'com.example.api/server')";
  if (more.length > 0) return 'server name cannot contain multiple slashes';
  if (namespace === '' || part === '') return "server name must be in format 'dns-namespace/name' with non-empty namespace and name parts";
  if (!/^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]$/.test(namespace)) {
    return `server name format is invalid: namespace '${namespace}' is invalid. Namespace must start and end with alphanumeric characters, and may contain dots and hyphens in the middle`;
  }
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/.test(part)) {
    return `server name format is invalid: name '${part}' is invalid. Name must start and end with alphanumeric characters, and may contain dots, underscores, and hyphens in the middle`;
  }
  return undefined;
}

function* versionFaults(path: string, version: string): Faults {
  if (version === 'latest') {
    yield fault(path, "version string 'latest' is reserved and cannot be used", 'reserved-version-string');
  } else if (looksLikeRange(version)) {
    const message = `version must be a specific version, not a range: ${goQuote(version)}`;
    yield fault(path, message, 'version-looks-like-range');
  }
}

/** Blanks as Go's TrimSpace knows them, and inside a range those of RE2's \\s: JavaScript's own differ in both cases. */
const TRIMMED = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const AROUND = `${TRIMMED}*`;
const BLANK_ONLY = new RegExp(`^${TRIMMED}+$`);
const BLANK = '[\\t\\n\\f\\r ]';
const ONE = 'v?[0-9]+(?:\\.[0-9]+){0,3}(?:-[0-9A-Za-z.-]+)?';
const RANGES = [
  `(?:\\^|~|>=|<=|>|<|=)${BLANK}*${ONE}`,
  `${ONE}${BLANK}-${BLANK}*${ONE}`,
  `${ONE}${BLANK}*(?:\\|\\|${BLANK}*${ONE}${BLANK}*)+`,
].map((range) => new RegExp(`^${AROUND}${range}${AROUND}$`));
const DOTTED = new RegExp(`^${AROUND}(?:v?[0-9]+|x|X|\\*)(?:\\.(?:[0-9]+|x|X|\\*)){1,2}(?:-[0-9A-Za-z.-]+)?${AROUND}$`);

/** One of the registry's range syntaxes. A dotted version with an x anywhere counts as one: so does `1.0.0-next.1`. */
function looksLikeRange(version: string): boolean {
  return RANGES.some((range) => range.test(version)) || (DOTTED.test(version) && /[xX*]/.test(version));
}

const REPOSITORY_URLS: ReadonlyMap<string, RegExp> = new Map([
  ['github', /^https?:\/\/(www\.)?github\.com\/[\w.-]+\/[\w.-]+\/?$/],
  // No group or project is named `-`: GitLab keeps that segment for its own routes.
  ['gitlab', /^(?!.*\/-(?:\/|$))https?:\/\/(www\.)?gitlab\.com\/[\w.-]+(\/[\w.-]+)+\/?$/],
]);

function* repositoryFaults(path: string, repository: Draft<Repository> | undefined): Faults {
  if (repository === undefined) return;
  const url = textOf(repository.url);
  const source = textOf(repository.source);
  if (url === '') yield fault(`${path}.url`, 'repository url is required when repository is provided', 'repository-url-required');
  if (source === '') {
    yield fault(`${path}.source`, 'repository source is required when repository is provided', 'repository-source-required');
  }
  if (url === '' || source === '') return;
  if (REPOSITORY_URLS.get(source)?.test(url) !== true) {
    yield fault(`${path}.url`, `invalid repository URL: ${url}`, 'invalid-repository-url');
  }
  yield* subfolderFaults(`${path}.subfolder`, textOf(repository.subfolder));
}

function* subfolderFaults(path: string, subfolder: string): Faults {
  if (subfolder === '' || isSubfolder(subfolder)) return;
  yield fault(path, `invalid subfolder path: ${subfolder}`, 'invalid-subfolder-path');
}

function isSubfolder(path: string): boolean {
  return /^[a-zA-Z0-9\-_./]+$/.test(path) && path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

function* titleFaults(path: string, title: string): Faults {
  if (BLANK_ONLY.test(title)) yield fault(path, 'title cannot be only whitespace', 'title-whitespace-only');
}

function* websiteFaults(path: string, url: string): Faults {
  if (url === '') return;
  const parsed = parseGoUrl(url);
  if (!parsed.ok) {
    yield fault(path, `invalid websiteUrl: ${parsed.fault}`, 'invalid-website-url');
    return;
  }
  if (parsed.url.scheme === '') {
    yield fault(path, `websiteUrl must be absolute (include scheme): ${url}`, 'website-url-must-be-absolute');
  }
  if (parsed.url.scheme !== 'https') {
    yield fault(path, `websiteUrl must use https scheme: ${url}`, 'website-url-invalid-scheme');
  }
  const bad = /["'<> \t\n\r]/.exec(url);
  if (bad !== null) {
    const message = `websiteUrl contains an invalid character '${bad[0].replace("'", "\\'")}' at position ${Buffer.byteLength(url.slice(0, bad.index))}: ${url}`;
    yield fault(path, message, 'website-url-invalid-characters');
  }
}

function* iconFaults(path: string, src: string): Faults {
  const parsed = parseGoUrl(src);
  if (!parsed.ok) {
    yield fault(path, `invalid icon src URL: ${parsed.fault}`, 'icon-src-invalid-url');
    return;
  }
  const { scheme } = parsed.url;
  if (scheme === '') yield fault(path, `icon src must be an absolute URL (include scheme): ${src}`, 'icon-src-not-absolute');
  if (scheme !== 'https') yield fault(path, `icon src must use https scheme (got ${scheme}): ${src}`, 'icon-src-invalid-scheme');
}

function* packageFaults(path: string, entry: Draft<Package>): Faults {
  if (textOf(entry.identifier).includes(' ')) {
    yield fault(`${path}.identifier`, 'package name cannot contain spaces', 'package-name-has-spaces');
  }
  yield* versionFaults(`${path}.version`, textOf(entry.version));
  yield* each(`${path}.runtimeArguments`, entry.runtimeArguments, argumentFaults);
  yield* each(`${path}.packageArguments`, entry.packageArguments, argumentFaults);
  yield* packageTransportFaults(`${path}.transport`, entry.transport ?? {}, packageVariables(entry));
}

/** What a package's URL may name in braces. */
function packageVariables({ environmentVariables = [], runtimeArguments = [], packageArguments = [] }: Draft<Package>): string[] {
  const ofArguments = [...runtimeArguments, ...packageArguments].flatMap(({ name, valueHint }) => [textOf(name), textOf(valueHint)]);
  return [...environmentVariables.map(({ name }) => textOf(name)), ...ofArguments.filter((name) => name !== '')];
}

function* argumentFaults(path: string, argument: Draft<Argument>): Faults {
  switch (argument.type) {
    case 'named':
      yield* namedArgumentFaults(path, argument);
      break;
    case 'positional':
      if (argument.value === undefined && argument.valueHint === undefined) {
        yield fault(path, 'positional argument must provide a value or a valueHint', 'positional-argument-value-or-hint-required');
      }
      break;
    default: {
      const message = `argument type must be 'positional' or 'named': ${goQuote(textOf(argument.type))}`;
      yield fault(`${path}.type`, message, 'invalid-argument-type');
    }
  }
}

function* namedArgumentFaults(path: string, argument: Draft<Argument>): Faults {
  const name = textOf(argument.name);
  if (name === '') yield fault(`${path}.name`, 'named argument name is required', 'named-argument-name-required');
  if (/[<> $]/.test(name)) {
    yield fault(`${path}.name`, `invalid named argument name format: ${name}`, 'invalid-named-argument-name');
  }
  for (const field of ['value', 'default'] as const) {
    const given = textOf(argument[field]);
    if (given === '' || !given.startsWith(name)) continue;
    const message = `argument ${field} cannot start with the argument name: ${field} starts with argument name '${name}': ${given}`;
    yield fault(`${path}.${field}`, message, `argument-${field}-starts-with-name`);
  }
}

function* packageTransportFaults(path: string, transport: Draft<Transport>, variables: readonly string[]): Faults {
  const { type = '', url = '' } = transport;
  switch (type) {
    case 'stdio':
      if (url !== '') {
        const message = `url must be empty for ${type} transport type, got: ${url}`;
        yield fault(`${path}.url`, message, 'stdio-transport-url-not-empty');
      }
      break;
    case 'streamable-http':
    case 'sse':
      if (url === '') {
        yield fault(`${path}.url`, `url is required for ${type} transport type`, 'streamable-transport-url-required');
      } else {
        yield* templateFaults(`${path}.url`, { url, variables, invalid: 'invalid package transport URL' });
      }
      break;
    default:
      yield fault(`${path}.type`, `unsupported transport type: ${type}`, 'unsupported-transport-type');
  }
}

function* remoteFaults(path: string, remote: Draft<Transport>, options: SemanticOptions): Faults {
  const { type = '', url = '', variables = {} } = remote;
  if (type !== 'streamable-http' && type !== 'sse') {
    const message = `unsupported transport type for remotes: ${type} (only streamable-http and sse are supported)`;
    yield fault(`${path}.type`, message, 'unsupported-remote-transport-type');
    return;
  }
  if (url === '') {
    yield fault(`${path}.url`, `url is required for ${type} transport type`, 'remote-transport-url-required');
  } else if (!isRemoteUrl(url, options)) {
    yield fault(`${path}.url`, `invalid remote URL: ${url}`, 'invalid-remote-url');
  }
  const names = Object.keys(variables).filter((name) => name !== '');
  yield* templateFaults(`${path}.url`, { url, variables: names, invalid: 'invalid remote URL' });
}

function isRemoteUrl(url: string, { allowLocalRemotes = false }: SemanticOptions): boolean {
  const parsed = httpUrl(url);
  if (parsed === undefined || allowLocalRemotes) return parsed !== undefined;
  const host = hostnameOf(parsed);
  return parsed.scheme === 'https' && host !== 'localhost' && host !== '127.0.0.1' && !host.endsWith('.localhost');
}

interface Templated {
  readonly url: string;
  readonly variables: readonly string[];
  /** the registry's words for a URL that is no good */
  readonly invalid: string;
}

function* templateFaults(path: string, { url, variables, invalid }: Templated): Faults {
  const used = templateVariables(url);
  const declared = new Set(variables);
  if (httpUrl(url) !== undefined && used.every((name) => declared.has(name))) return;
  const message =
    used.length === 0
      ? `${invalid}: ${url}`
      : `${invalid}: template variables in URL ${url} reference undefined variables. Available variables: [${variables.join(' ')}]`;
  yield fault(path, message, 'invalid-templated-url');
}

/** A URL, its variables filled in, when it is http or https and names a host. */
function httpUrl(url: string): GoUrl | undefined {
  const parsed = parseGoUrl(fillTemplate(url));
  return parsed.ok && /^https?$/.test(parsed.url.scheme) && parsed.url.host !== '' ? parsed.url : undefined;
}
