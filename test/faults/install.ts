import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { normalForm } from '../../lib/registry-api/normal-form.ts';
import { SCHEMA_URL, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { stamped } from '../../operator/records/record.ts';
import type { DeclarationStatus, OperatorView } from '../../operator/records/status.ts';
import { environment, MAIN, unwrapped, type Wrap } from './environment.ts';
import { Program } from './program.ts';

export interface InstallOptions {
  /** where its directories and its status go */
  readonly root: string;
  readonly name: string;
  readonly registryUrl: string;
  readonly seedFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** surroundings of its process, given the folder of its status */
  readonly wrap?: (folder: string) => Wrap;
}

/** One operator in a process of its own, and what is declared to it. */
export class Install {
  readonly name: string;
  readonly catalog: string;
  readonly statusFile: string;
  readonly operator: Program;
  /** by folder: what the registry must show in the end */
  readonly declared = new Map<string, ServerJson>();
  /** folders whose declarations must be refused, since the names are somebody else's */
  readonly refused = new Set<string>();
  readonly #root: string;
  #drafts = 0;

  private constructor({ root, name, registryUrl, seedFile, env = {}, wrap = () => unwrapped }: InstallOptions) {
    this.name = name;
    this.#root = join(root, name);
    this.catalog = join(this.#root, 'catalog');
    this.statusFile = join(this.#root, 'state', 'status.json');
    const own = {
      PORT: '0',
      METRICS_PORT: 'off',
      DRAIN_SECONDS: '0',
      INSTALL: name,
      REGISTRY_URL: registryUrl,
      REGISTRY_JWT_SEED_FILE: seedFile,
      SOURCE_DIRECTORY: this.catalog,
      STATUS_FILE: this.statusFile,
      PROBE_INTERVAL_SECONDS: '1',
      REGISTRY_RESYNC_SECONDS: '1',
      WITHDRAW_AFTER_SECONDS: '1',
      ...env,
    };
    const program = { command: process.execPath, args: [MAIN.operator], env: environment(own) };
    this.operator = new Program(`the operator of ${name}`, wrap(dirname(this.statusFile))(program));
  }

  static async make(options: InstallOptions): Promise<Install> {
    const install = new Install(options);
    await mkdir(install.catalog, { recursive: true });
    await mkdir(join(install.#root, 'state'));
    return install;
  }

  /** of all its names */
  get prefix(): string {
    return `com.example.${this.name}/`;
  }

  /** A record of this install: with fields that a registry drops, and an https remote, as the official one wants it. */
  document(label: string, fields: Partial<ServerJson> = {}): ServerJson {
    const name = `${this.prefix}${label}`;
    const remotes = [
      { type: 'streamable-http' as const, url: `https://${label}.example/mcp`, headers: [{ name: 'X-Team', isRequired: false }] },
    ];
    return { $schema: SCHEMA_URL, name, version: '1.0.0', description: 'a server', packages: [], remotes, ...fields };
  }

  /** Writes whole files, as an editor does: first the settings, with the address to probe, then the document. */
  async declare(folder: string, document: ServerJson, settings: object): Promise<void> {
    await this.declareIn(this.catalog, folder, document, settings);
  }

  /** The same in a directory that will take the catalog's place. */
  async declareIn(catalog: string, folder: string, document: ServerJson, settings: object): Promise<void> {
    await this.#write(join(catalog, folder), document, settings);
    this.declared.set(folder, document);
  }

  /** Declares what must be refused. */
  async contest(folder: string, document: ServerJson, settings: object): Promise<void> {
    await this.#write(join(this.catalog, folder), document, settings);
    this.refused.add(folder);
  }

  /** Takes back a declaration that was refused. */
  async withdraw(folder: string): Promise<void> {
    await this.remove(folder);
    this.refused.delete(folder);
  }

  async remove(folder: string): Promise<void> {
    await rm(join(this.catalog, folder), { recursive: true });
    this.declared.delete(folder);
  }

  /** What a record of this folder must look like. */
  expected(folder: string): ServerJson | undefined {
    const document = this.declared.get(folder);
    const source = `${basename(this.catalog)}/${folder}/server.json`;
    return document === undefined ? undefined : normalForm(stamped(document, { install: this.name, source }));
  }

  /** As its process sees the file: it may have a disk of its own. */
  async status(): Promise<OperatorView> {
    return JSON.parse(await readFile(this.#seen(this.statusFile), 'utf8')) as OperatorView;
  }

  async statusOf(folder: string): Promise<DeclarationStatus | undefined> {
    const { declarations } = await this.status();
    return declarations.find(({ source }) => source === `${basename(this.catalog)}/${folder}/server.json`);
  }

  /** What is wrong with what it says and leaves behind, in words. */
  async wrongs(): Promise<readonly string[]> {
    const left = (await readdir(this.#seen(dirname(this.statusFile)))).filter((name) => name !== basename(this.statusFile));
    const { declarations } = await this.status();
    const said = declarations.map(({ source, state }) => `${source} ${state}`);
    const should = [
      ...Array.from(this.declared.keys(), (folder) => [folder, 'Published']),
      ...Array.from(this.refused, (folder) => [folder, 'Refused']),
    ];
    const wanted = should.map(([folder, state]) => `${basename(this.catalog)}/${folder}/server.json ${state}`);
    const missing = wanted.filter((line) => !said.includes(line)).map((line) => `the status does not say: ${line}`);
    const surplus = said.filter((line) => !wanted.includes(line)).map((line) => `the status says: ${line}`);
    return [...left.map((name) => `${name} is left beside the status file`), ...missing, ...surplus, this.operator.wrong()].filter(
      (wrong) => wrong !== undefined,
    );
  }

  #seen(path: string): string {
    return `/proc/${this.operator.pid}/root${path}`;
  }

  async #write(folder: string, document: ServerJson, settings: object): Promise<void> {
    await mkdir(folder, { recursive: true });
    await this.#put(join(folder, 'toolyard.json'), settings);
    await this.#put(join(folder, 'server.json'), document);
  }

  async #put(path: string, content: object): Promise<void> {
    const draft = join(this.#root, `draft-${(this.#drafts += 1)}`);
    await writeFile(draft, JSON.stringify(content));
    await rename(draft, path);
  }
}
