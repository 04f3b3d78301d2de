import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { normalForm } from '../../lib/registry-api/normal-form.ts';
import { validateServerJson, type Fault } from '../../lib/registry-api/validate.ts';
import { documents, samples } from './documents.ts';
import { officialRegistry, type OfficialRegistry } from './official-registry.ts';
import { drawing } from './drawing.ts';

/** What a registry, or our validator in its place, makes of a document. Faults as `path: message`, sorted. */
interface Verdict {
  readonly outcome: 'accepted' | Fault['stage'];
  readonly faults: readonly string[];
  /** of an accepted document */
  readonly stored?: unknown;
}

const run = Date.now().toString(36);
let official: OfficialRegistry;

beforeAll(() => {
  official = officialRegistry();
});

const single = samples((index) => `io.example.${run}/single-${index}`);

test(`the official registry judges ${single.length} documents, each with one thing tried, as the validator does`, async () => {
  const differences: unknown[] = [];
  for (const { tries, text } of single) {
    const [theirs, ours] = [await officialVerdict(text), ourVerdict(text)];
    if (JSON.stringify(theirs) !== JSON.stringify(ours)) differences.push({ tries, theirs, ours });
  }
  expect(differences).toEqual([]);
});

test('the official registry judges documents with many faults at once as the validator does', async () => {
  const outcomes: string[] = [];
  await fc.assert(
    fc.asyncProperty(documents, async (document) => {
      const text = JSON.stringify({ ...document, name: `io.example.${run}/many-${outcomes.length}` });
      const ours = ourVerdict(text);
      outcomes.push(ours.outcome);
      expect(ours).toEqual(await officialVerdict(text));
    }),
    drawing(2000),
  );
  expect(outcomes).toEqual(expect.arrayContaining(['accepted', 'input', 'semantic']));
});

function ourVerdict(text: string): Verdict {
  const document: unknown = JSON.parse(text);
  const faults = validateServerJson(document);
  const outcome = faults[0]?.stage;
  if (outcome === undefined) return { outcome: 'accepted', faults: [], stored: sorted(normalForm(document)) };
  const first = faults.filter(({ stage }) => stage === outcome);
  return { outcome, faults: outcome === 'storage' ? [] : written(first) };
}

async function officialVerdict(text: string): Promise<Verdict> {
  const { status, body } = await official.post('/v0.1/publish', text);
  const errors = (body['errors'] ?? []) as { message: string; location?: string }[];
  if (status === 200) return { outcome: 'accepted', faults: [], stored: sorted(body['server']) };
  if (status === 400) return verdictOfCause(errors[0]?.message ?? '', text);
  if (status !== 422) throw new Error(`the registry answered ${status} ${JSON.stringify(body)} to ${text.slice(0, 300)}`);
  if (errors.length === 0) return { outcome: 'semantic', faults: await officialReasons(text) };
  const faults = errors.map(({ message, location = '' }) => ({ path: location.replace(/\.$/, '.""').replace(/^body\.?/, ''), message }));
  return { outcome: 'input', faults: written(faults) };
}

function verdictOfCause(cause: string, text: string): Verdict {
  // A name that an earlier run published too: it got past every check of the document.
  if (cause.includes('cannot publish duplicate version')) return ourVerdict(text);
  if (cause.includes('exceeds 4KB limit'))
    return { outcome: 'size', faults: written([{ path: cause.split(' ')[0] ?? '', message: cause }]) };
  if (cause.includes('SQLSTATE')) return { outcome: 'storage', faults: [] };
  throw new Error(`the registry answered 400 ${cause} to ${text.slice(0, 300)}`);
}

/** A publish does not say which rule was broken; `/validate` does, beside the faults of the JSON schema, which a publish does not check. */
async function officialReasons(text: string): Promise<string[]> {
  const { body } = await official.post('/v0.1/validate', text);
  const issues = body['issues'] as { type: string; path: string; message: string; severity: string }[];
  return written(issues.filter(({ type, path, severity }) => severity === 'error' && (type === 'semantic' || path === 'schema')));
}

/**
 * Faults as texts that can be compared. Go says in many ways why an address is none. The variables of a remote are listed in any order. The official registry's locations are wrong
 * after a publisher's `_meta`: it takes the dots in that key for steps of the path and keeps `_meta.io` before all that follows.
 */
function written(faults: readonly { path: string; message: string }[]): string[] {
  const plain = (message: string) =>
    message
      .replace(/invalid host: .*/s, 'invalid host')
      .replace(/Available variables: \[(.*)\]/s, (_, names: string) => `variables ${names.split(' ').sort().join(' ')}`);
  return faults.map(({ path, message }) => `${path.replace(/^_meta\.io(\.(?!modelcontextprotocol)|$)/, '')}: ${plain(message)}`).sort();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
