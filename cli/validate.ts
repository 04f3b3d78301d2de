import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { faultLine } from '../lib/registry-api/fault.ts';
import { readDeclaration, type DeclarationFault, type Found } from '../operator/records/declaration.ts';
import { MAX_DOCUMENT_BYTES, parse } from '../operator/records/document.ts';
import { CliError, exit, type ExitCode } from './exit.ts';
import { safe, shownPath, type Terminal } from './terminal.ts';
import { messageOf } from '../lib/error-message.ts';

/** One declaration as `validate` judges it. */
export interface Verdict {
  /** path of the server.json, from the working directory */
  readonly file: string;
  /** '' when the document does not tell */
  readonly name: string;
  readonly version: string;
  readonly faults: readonly DeclarationFault[];
}

/** Judges every declaration without asking anybody; the exit code tells whether all are without faults. */
export async function validate(request: { dir: string; local: boolean }, terminal: Terminal): Promise<ExitCode> {
  const files = serverFiles(request.dir);
  const verdicts = withDuplicates(files.map((file) => judge(file, request.local)));
  const faults = verdicts.reduce((sum, verdict) => sum + verdict.faults.length, 0);
  terminal.data({ files: verdicts, faults });
  const { paint } = terminal;
  for (const verdict of verdicts) {
    const mark = verdict.faults.length === 0 ? paint.good('✔') : paint.bad('✖');
    terminal.line(`${mark} ${safe(verdict.file)}  ${paint.dim(safe(`${verdict.name} ${verdict.version}`.trim()))}`);
    for (const fault of verdict.faults) terminal.prose(`    ${safe(faultLine(fault))}`);
  }
  terminal.line(summary(verdicts, faults));
  if (faults > 0 && !request.local && files.every((file) => judge(file, true).faults.length === 0)) {
    terminal.prose(
      'All faults are addresses on this machine: toolyard up takes them, a registry does not. --local judges as toolyard up does.',
    );
  }
  return faults === 0 ? exit.done : exit.no;
}

function summary(verdicts: readonly Verdict[], faults: number): string {
  const files = verdicts.length === 1 ? '1 file' : `${verdicts.length} files`;
  if (faults === 0) return `${files}, no faults`;
  return `${files}, ${faults === 1 ? '1 fault' : `${faults} faults`}`;
}

/** `dir/<any>/server.json`; a directory that holds a server.json itself, or such a file, stands for that one. */
function serverFiles(path: string): string[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new CliError(exit.notFound, `there is no ${path}`, { next: 'name a directory of declarations, or one server.json' });
  if (!stats.isDirectory()) return [path];
  if (exists(join(path, 'server.json'))) return [join(path, 'server.json')];
  const files = readdirSync(path)
    .filter((entry) => !entry.startsWith('.'))
    .sort()
    .map((entry) => join(path, entry, 'server.json'))
    .filter(exists);
  if (files.length > 0) return files;
  throw new CliError(exit.notFound, `there is no declaration in ${path}`, {
    next: 'a declaration is a file <any>/server.json in that directory',
  });
}

function judge(path: string, local: boolean): Verdict {
  const settings = join(dirname(path), 'toolyard.json');
  const { wish } = readDeclaration(
    {
      source: path,
      namespace: basename(dirname(dirname(path))),
      createdAt: 0,
      document: read(path),
      settings: basename(path) === 'server.json' && exists(settings) ? read(settings) : { value: {} },
    },
    { install: 'toolyard', publishEndpoint: local, endpoints: {} },
  );
  const faults = wish.is === 'unusable' ? wish.faults : [];
  return { file: shownPath(path), name: wish.name ?? '', version: wish.version ?? '', faults };
}

function read(path: string): Found {
  try {
    const stats = statSync(path);
    // a pipe would be waited for
    if (!stats.isFile()) return { unusable: 'Unreadable', message: 'it is not a regular file' };
    const { size } = stats;
    if (size > MAX_DOCUMENT_BYTES)
      return { unusable: 'TooLarge', message: `it has ${size} bytes; a registry takes at most ${MAX_DOCUMENT_BYTES}` };
    return parse(readFileSync(path));
  } catch (error) {
    return { unusable: 'Unreadable', message: `it cannot be read: ${messageOf(error)}` };
  }
}

/** Of two files that declare one version of one name, only one could be published. */
function withDuplicates(verdicts: readonly Verdict[]): Verdict[] {
  const groups = Map.groupBy(
    verdicts.filter(({ name, version }) => name !== '' && version !== ''),
    ({ name, version }) => JSON.stringify([name, version]),
  );
  return verdicts.map((verdict) => {
    const others = (groups.get(JSON.stringify([verdict.name, verdict.version])) ?? []).filter((other) => other !== verdict);
    if (others.length === 0) return verdict;
    const message = `${verdict.name} ${verdict.version} is declared by ${others.map(({ file }) => file).join(', ')} too: change one's version`;
    return { ...verdict, faults: verdict.faults.concat({ path: 'version', message }) };
  });
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
