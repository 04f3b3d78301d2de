import type { DeclarationStatus } from '../operator/records/status.ts';
import { RegistryError } from '../lib/registry-api/errors.ts';
import { OFFICIAL_META, type ServerRecord } from '../lib/registry-api/server-json.ts';
import { readClusterStatus, type ClusterChoice } from './cluster.ts';
import { exit, type ExitCode } from './exit.ts';
import { registryClient } from './mcp.ts';
import { stateDir } from './stack/state-dir.ts';
import { declarationTable } from './declaration-table.ts';
import { readStatus, type KnownStatus } from './status.ts';
import { safe, table, type Terminal } from './terminal.ts';

export interface ServersRequest {
  readonly state: string;
  readonly registry: string | undefined;
  /** ask a cluster instead of the state directory */
  readonly cluster: ClusterChoice | undefined;
}

/** What is known of the declarations in one place. */
interface Overview {
  readonly declarations: readonly DeclarationStatus[];
  /** what to say when there are none */
  readonly none: string;
  /** where they are, for programs */
  readonly place: object;
  /** the registry whose other records are listed, when it is known */
  readonly registry: string | undefined;
  /** what is said last */
  readonly standing: (published: Listed | undefined) => readonly string[];
}

/** Lists what is declared and what became of it, and what else the registry has. */
export async function servers(request: ServersRequest, terminal: Terminal): Promise<ExitCode> {
  const { declarations, none, place, registry, standing } = await overviewOf(request);
  const published = registry === undefined ? undefined : await listRegistry(registry);
  const others = published === undefined || 'problem' in published ? [] : notDeclared(published.records, declarations);
  terminal.data({ ...place, declarations, otherRecords: others.map(briefly) });
  if (declarations.length === 0) terminal.line(none);
  else for (const line of declarationTable(declarations, terminal.paint)) terminal.prose(line);
  if (others.length > 0) printOthers(others, terminal);
  terminal.line();
  for (const line of standing(published)) terminal.prose(line);
  return published !== undefined && 'problem' in published ? exit.unreachable : exit.done;
}

async function overviewOf({ state, registry, cluster }: ServersRequest): Promise<Overview> {
  if (cluster !== undefined) {
    const { url, declarations } = await readClusterStatus(cluster);
    const none = 'Nothing is declared: no ConfigMap has the label toolyard.dev/kind=server.json.';
    const standing = (published: Listed | undefined) => [
      `cluster ${url}`,
      ...(published !== undefined && 'problem' in published ? [published.problem] : []),
    ];
    return { declarations, none, place: { cluster: url }, registry, standing };
  }
  const known = readStatus(stateDir(state));
  const { declarations, updatedAt, registry: last } = known.status;
  const url = registry ?? known.up?.registry;
  return {
    declarations,
    none: 'Nothing is declared: put a <any>/server.json into the catalog.',
    place: { running: known.up !== undefined, updatedAt, registry: last },
    registry: url,
    standing: (published) => standingOfUp(known, url, published),
  };
}

function briefly({ server, _meta }: ServerRecord) {
  return { name: server.name, version: server.version, status: _meta[OFFICIAL_META]?.status };
}

type Listed = { records: readonly ServerRecord[] } | { problem: string };

async function listRegistry(url: string): Promise<Listed> {
  try {
    return { records: await registryClient(url).listAll({ version: 'latest' }) };
  } catch (error) {
    if (error instanceof RegistryError) return { problem: error.message };
    throw error;
  }
}

function notDeclared(records: readonly ServerRecord[], declarations: readonly DeclarationStatus[]): ServerRecord[] {
  const names = new Set(declarations.map(({ name }) => name));
  return records.filter(({ server }) => !names.has(server.name));
}

function printOthers(others: readonly ServerRecord[], terminal: Terminal): void {
  terminal.line();
  terminal.line('Also in the registry, not declared here:');
  const rows = others.map(({ server, _meta }) => [safe(server.name), safe(server.version), _meta[OFFICIAL_META]?.status ?? '']);
  for (const line of table(rows)) terminal.prose(`  ${line}`);
}

function standingOfUp({ status, up }: KnownStatus, url: string | undefined, published: Listed | undefined): string[] {
  const registry = published === undefined ? '' : 'problem' in published ? published.problem : `registry ${url ?? ''}`;
  if (up !== undefined) return [`${registry}; toolyard up runs as process ${up.pid}`];
  const was = `toolyard up is not running; this is how it was at ${status.updatedAt}`;
  return registry === '' ? [was] : [was, registry];
}
