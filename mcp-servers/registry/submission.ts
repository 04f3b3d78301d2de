import { normalForm } from '../../lib/registry-api/normal-form.ts';
import type { ServerJson } from '../../lib/registry-api/server-json.ts';
import { validateServerJson, type Fault } from '../../lib/registry-api/validate.ts';
import type { Reading } from './input.ts';
import { Problem, type Detail } from './problem.ts';

/** A document whose shape is right, in the registry's stored form, with what its later checks found. */
export interface Submission {
  readonly document: ServerJson;
  readonly faults: readonly Fault[];
}

export function submissionOf(document: unknown, options: { readonly allowLocalRemotes: boolean }): Reading<Submission> {
  const faults = validateServerJson(document, { ...options, warnings: true });
  const shape = faults.filter(({ stage }) => stage === 'input');
  if (shape.length > 0) return { faults: shape.map(detailOf) };
  return { means: { document: normalForm(document), faults } };
}

/** Why a document cannot be stored, the first reason only; `verb` is what was tried, `publish` or `edit`. */
export function refusalOf({ faults }: Submission, verb: 'publish' | 'edit'): Problem | undefined {
  const errors = faults.filter(({ severity }) => severity !== 'warning');
  if (errors.some(({ stage }) => stage === 'semantic')) {
    return new Problem(422, `Failed to ${verb} server, invalid schema: call /validate for details`);
  }
  // The official registry limits the publisher's part on publish only.
  const worst = errors.find(({ stage }) => stage === 'storage' || (stage === 'size' && verb === 'publish'));
  return worst && new Problem(400, `Failed to ${verb} server`, [{ message: worst.message }]);
}

/** One entry of the answer of `/validate`. */
export interface Issue {
  readonly type: 'schema' | 'semantic';
  readonly path: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  readonly reference: string;
}

/** What `/validate` says. It checks the JSON Schema too, where that is stricter than publishing, and not the size of `_meta`. */
export function verdictOn({ document, faults }: Submission): { valid: boolean; issues: Issue[] } {
  const semantic = faults.filter(({ stage }) => stage === 'semantic').map(issueOf);
  const issues = [...schemaIssues(document), ...semantic];
  return { valid: issues.every(({ severity }) => severity === 'warning'), issues };
}

function detailOf({ path, message, value }: Fault): Detail {
  const location = path === '' || path.startsWith('[') ? `body${path}` : `body.${path}`;
  return { message, location, value };
}

function issueOf({ path, message, reference = '', severity = 'error' }: Fault): Issue {
  const type = reference === 'schema-version-extraction-error' || reference === 'schema-version-not-available' ? 'schema' : 'semantic';
  return { type, path, message, severity, reference };
}

/** The rules of the published JSON Schema (2025-12-11) that neither the request layer nor the code checks have. */
function schemaIssues({ icons = [], packages = [], remotes = [] }: ServerJson): Issue[] {
  const urls = [
    ...packages.map(({ transport }, index) => ({ path: `packages[${index}].transport.url`, transport })),
    ...remotes.map((transport, index) => ({ path: `remotes[${index}].url`, transport })),
  ];
  return [
    ...icons.flatMap(({ sizes = [] }, icon) =>
      sizes.flatMap((size, index) => mismatch(`icons[${icon}].sizes[${index}]`, size, /^(\d+x\d+|any)$/)),
    ),
    ...urls.flatMap(({ path, transport }) =>
      transport.type === 'stdio' ? [] : mismatch(path, transport.url ?? '', /^https?:\/\/[^\s]+$/),
    ),
  ];
}

function mismatch(path: string, value: string, pattern: RegExp): Issue[] {
  if (pattern.test(value)) return [];
  return [{ type: 'schema', path, message: `does not match pattern '${pattern.source}'`, severity: 'error', reference: 'json-schema' }];
}
