import type { IncomingMessage } from 'node:http';
import { version } from '../../lib/version.ts';
import { mayNotPublish, rightsOn, type Tokens } from './auth.ts';
import type { BodyLimits } from './body.ts';
import { resultCode } from './database.ts';
import { acceptInput, type Reading } from './input.ts';
import {
  MAX_BYTES_PER_NAME,
  MAX_VERSIONS_PER_NAME,
  planEdit,
  planPublish,
  planStatus,
  planStatusOfAll,
  type Verdict,
} from './lifecycle.ts';
import { cursorText, includeDeletedOf, listQueryOf } from './list-query.ts';
import { Problem } from './problem.ts';
import type { Route, RouteName } from './routes.ts';
import { statusWishOf } from './status-body.ts';
import type { Records, Store } from './store.ts';
import { refusalOf, submissionOf, verdictOn, type Submission } from './submission.ts';
import { decodeAgain } from './target.ts';
import type { Micros } from './time.ts';

/** What the operations work on. */
export interface Registry {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly clock: () => Micros;
  readonly limits: BodyLimits;
  readonly allowLocalRemotes: boolean;
  readonly anonymousAuth: boolean;
}

export interface Asked {
  readonly route: Route;
  readonly query: string | undefined;
  readonly request: IncomingMessage;
}

/** The JSON text of a 200 answer. `undefined`: this registry has no such route. */
type Answer = string | undefined;

/** The operations that may be kept until the next commit: they depend on the database and the request target alone. */
export const cacheable: ReadonlySet<RouteName> = new Set(['list', 'getVersions', 'getVersion']);

/** Answers every operation of the API. @throws Problem */
export function createApi(registry: Registry): (asked: Asked) => Answer | Promise<Answer> {
  const operations: Record<RouteName, (asked: Asked) => Answer | Promise<Answer>> = {
    list: (asked) => list(registry, asked),
    getVersions: (asked) => getVersions(registry, asked),
    getVersion: (asked) => getVersion(registry, asked),
    publish: (asked) => publish(registry, asked),
    edit: (asked) => edit(registry, asked),
    setStatus: (asked) => setStatus(registry, asked),
    setStatusOfAll: (asked) => setStatusOfAll(registry, asked),
    validate: async ({ request }) => JSON.stringify(verdictOn(await readSubmission(registry, request, false))),
    anonymousToken: async () => (registry.anonymousAuth ? JSON.stringify(await registry.tokens.anonymous()) : undefined),
    health: () => '{"status":"ok"}',
    ping: () => '{"pong":true}',
    version: () => JSON.stringify({ version, git_commit: 'unknown', build_time: 'unknown' }),
  };
  return (asked) => operations[asked.route.to](asked);
}

function list({ store }: Registry, { query }: Asked): Answer {
  const { records, next } = store.list(listQueryOf(query));
  return serverList(records, next === undefined ? {} : { nextCursor: cursorText(next) });
}

function getVersions({ store }: Registry, { route, query }: Asked): Answer {
  const includeDeleted = includeDeletedOf(query);
  const records = store.versions(nameIn(route), includeDeleted);
  if (records.length === 0) throw new Problem(404, 'Server not found');
  return serverList(records, {});
}

function getVersion({ store }: Registry, { route, query }: Asked): Answer {
  const includeDeleted = includeDeletedOf(query);
  const name = nameIn(route);
  const version = versionIn(route);
  const record = version === 'latest' ? store.latest(name, includeDeleted) : store.version(name, version, includeDeleted);
  if (record === undefined) throw new Problem(404, 'Server not found');
  return record;
}

async function publish(registry: Registry, { request }: Asked): Promise<Answer> {
  const submission = await readSubmission(registry, request, true);
  const { name, version } = submission.document;
  const granted = await registry.tokens.granted(request.headers.authorization ?? '');
  if (!rightsOn(name, granted).publish) throw mayNotPublish(name, granted);
  const refusal = refusalOf(submission, 'publish');
  if (refusal !== undefined) throw refusal;
  const document = JSON.stringify(submission.document);
  return write(registry, 'Failed to publish server', (records) => {
    const taken = records.state(name, version) !== undefined;
    const facts = { name, version, count: records.count(name), taken, latest: records.latest(name) };
    carryOut(records, planPublish(facts, registry.clock()), document);
    requireRoom(records, name, { document, verb: 'publish' });
    return records.record(name, version);
  });
}

async function edit(registry: Registry, { route, request }: Asked): Promise<Answer> {
  const submission = await readSubmission(registry, request, true);
  const granted = await registry.tokens.granted(request.headers.authorization ?? '');
  const at = { name: nameIn(route), version: versionIn(route) };
  const { name, version } = submission.document;
  const fault = refusalOf(submission, 'edit');
  const document = JSON.stringify(submission.document);
  return write(registry, 'Failed to edit server', (records) => {
    const facts = { current: records.state(at.name, at.version), rights: rightsOn(at.name, granted), name, version, fault };
    carryOut(records, planEdit(facts, registry.clock()), document);
    requireRoom(records, name, { document, verb: 'edit' });
    return records.record(name, version);
  });
}

async function setStatus(registry: Registry, { route, request }: Asked): Promise<Answer> {
  const wish = await acceptInput(request, { limits: registry.limits, authorization: true, read: statusWishOf });
  const granted = await registry.tokens.granted(request.headers.authorization ?? '');
  const name = nameIn(route);
  const version = versionIn(route);
  return write(registry, STATUS_FAILED, (records) => {
    const context = { rights: rightsOn(name, granted), now: registry.clock() };
    carryOut(records, planStatus(records.states(name), version, wish, context));
    return records.record(name, version);
  });
}

async function setStatusOfAll(registry: Registry, { route, request }: Asked): Promise<Answer> {
  const wish = await acceptInput(request, { limits: registry.limits, authorization: true, read: statusWishOf });
  const granted = await registry.tokens.granted(request.headers.authorization ?? '');
  const name = nameIn(route);
  return write(registry, STATUS_FAILED, (records) => {
    const context = { rights: rightsOn(name, granted), now: registry.clock() };
    carryOut(records, planStatusOfAll(records.states(name), wish, context));
    const all = registry.store.versions(name, true);
    return `{"updatedCount":${all.length},"servers":[${all.join(',')}]}`;
  });
}

const STATUS_FAILED = 'Failed to update server status';

/** Runs a write; what the database could not do is no refusal, so clients may try again. */
async function write(registry: Registry, phrase: string, work: (records: Records) => string): Promise<string> {
  try {
    return await registry.store.write(work);
  } catch (error) {
    if (error instanceof Problem) throw error;
    const details = resultCode(error) === 0 ? [] : [{ message: `the database could not be written: ${(error as Error).message}` }];
    throw new Problem(500, phrase, details, { cause: error });
  }
}

function carryOut(records: Records, verdict: Verdict, document = ''): void {
  switch (verdict.do) {
    case 'refuse':
      throw verdict.problem;
    case 'insert':
      if (verdict.dethroned !== undefined) records.saveState(verdict.dethroned);
      return records.insert(verdict.record, document);
    case 'replace':
      return records.replaceDocument(verdict.record, document);
    case 'save':
      return verdict.states.forEach((state) => records.saveState(state));
  }
}

/** All versions of a name are one answer. Documents that are small enough for the largest number of versions need no counting. */
function requireRoom(
  records: Records,
  name: string,
  { document, verb }: { readonly document: string; readonly verb: 'publish' | 'edit' },
): void {
  if (Buffer.byteLength(document) <= MAX_BYTES_PER_NAME / MAX_VERSIONS_PER_NAME) return;
  const bytes = records.bytes(name);
  if (bytes <= MAX_BYTES_PER_NAME) return;
  const message = `maximum size of all versions of this server reached (${MAX_BYTES_PER_NAME} bytes): ${name} would have ${bytes}`;
  throw new Problem(400, `Failed to ${verb} server`, [{ message }]);
}

function readSubmission(registry: Registry, request: IncomingMessage, authorization: boolean): Promise<Submission> {
  const read = (document: unknown): Reading<Submission> => submissionOf(document, registry);
  return acceptInput(request, { limits: registry.limits, authorization, read });
}

function serverList(records: readonly string[], next: { readonly nextCursor?: string }): string {
  return `{"servers":[${records.join(',')}],"metadata":${JSON.stringify({ ...next, count: records.length })}}`;
}

function nameIn({ name }: Route): string {
  return decoded(name, 'server name');
}

function versionIn({ version }: Route): string {
  return decoded(version, 'version');
}

function decoded(text: string, what: string): string {
  const again = decodeAgain(text);
  if (!again.ok) throw new Problem(400, `Invalid ${what} encoding`, [{ message: again.fault }]);
  return again.text;
}
