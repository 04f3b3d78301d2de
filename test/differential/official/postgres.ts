import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { hasEnded, startChild, type Child } from './child.ts';
import { temporaryFolder } from './folder.ts';

const run = promisify(execFile);

export interface Postgres {
  /** for the official registry's DATABASE_URL; a socket in a private folder, so that it takes no port and nobody else gets in */
  readonly url: string;
  /** Runs one statement as its superuser, outside the registry's database. */
  sql(statement: string): Promise<void>;
  /** Stops the server and removes its data. */
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** folder with initdb, postgres and psql */
  readonly programs: string;
  /** whether commits reach the disk, as in production; tests do not need it */
  readonly durable: boolean;
}

const START_MS = 30_000;
const DATABASE = 'registry';
/** Makes the registry's database, empty. */
export const CREATE_DATABASE = `create database ${DATABASE} template template0 lc_collate 'C' lc_ctype 'C.UTF-8' encoding 'UTF8'`;
/** PostgreSQL refuses to run as root. */
const user = process.getuid?.() === 0 ? 'postgres' : undefined;

/**
 * A PostgreSQL server of its own, with an empty database whose texts are ordered bytewise, as SQLite's are.
 * @throws Error with what PostgreSQL said when it does not start
 */
export async function startPostgres({ programs, durable }: PostgresOptions): Promise<Postgres> {
  const folder = await temporaryFolder('toolyard-postgres-');
  const directory = folder.path;
  let server: Child | undefined;
  const sql = (statement: string) =>
    asUser(join(programs, 'psql'), ['--no-psqlrc', '-h', directory, '-U', 'postgres', '-d', 'postgres', '-c', statement]);
  const close = async (): Promise<void> => {
    // SIGQUIT is its immediate shutdown: the data are thrown away
    await server?.stop('SIGQUIT');
    await folder.remove();
  };
  try {
    if (user !== undefined) await run('chown', [user, directory]);
    const data = join(directory, 'data');
    const initial = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await asUser(join(programs, 'initdb'), ['--pgdata', data, ...initial]);
    const settings = { listen_addresses: '', unix_socket_directories: directory, fsync: durable ? 'on' : 'off', max_connections: '200' };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    server = startChild(join(programs, 'postgres'), ['-D', data, ...flags], user === undefined ? {} : { user });
    await createDatabase(sql, server);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `postgres:///${DATABASE}?user=postgres&host=${encodeURIComponent(directory)}`, sql, close };
}

/** Again and again until the server answers. */
async function createDatabase(sql: Postgres['sql'], server: Child): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    try {
      await sql(CREATE_DATABASE);
      return;
    } catch (error) {
      if (hasEnded(server.process) || performance.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${server.said()}\n${String(error)}`, { cause: error });
      }
      await delay(50);
    }
  }
}

async function asUser(command: string, args: readonly string[]): Promise<void> {
  // the folder this process is in may be closed to that user
  const options = { cwd: '/' };
  if (user === undefined) await run(command, args, options);
  else await run('setpriv', [`--reuid=${user}`, `--regid=${user}`, '--init-groups', '--', command, ...args], options);
}
