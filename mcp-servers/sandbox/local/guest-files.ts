import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { entryPoint } from '../../../lib/entry-point.ts';
import type { Host } from './host.ts';
import { GUEST_ID, guestPaths } from './isolation.ts';

/** Files that every sandbox is given, read-only; a guest's user can read them. */
export interface GuestFiles {
  /** holds etc and agent, and an empty file `node` to mount the real one over */
  readonly directory: string;
  /** directory: the guest's /etc, with a place for each of what programs need of the machine's */
  readonly etc: string;
  readonly agent: string;
}

/** @throws Error when the directory is there already or cannot be written */
export function writeGuestFiles(directory: string, host: Pick<Host, 'etc'>): GuestFiles {
  const etc = join(directory, 'etc');
  mkdirSync(directory);
  mkdirSync(etc);
  const user = `sandbox:x:${GUEST_ID}:${GUEST_ID}:sandbox:${guestPaths.workspace}:/bin/bash\n`;
  const content = {
    passwd: `root:x:0:0:root:/root:/bin/sh\n${user}nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n`,
    group: `root:x:0:\nsandbox:x:${GUEST_ID}:\nnogroup:x:65534:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  };
  for (const [name, text] of Object.entries(content)) writeFileSync(join(etc, name), text);
  for (const path of host.etc) placeFor(path, join(etc, basename(path)));
  const agent = join(directory, 'agent.mjs');
  writeFileSync(agent, plainJavaScript(entryPoint('./agent.ts', 'sandbox-agent', import.meta.url)));
  writeFileSync(join(directory, 'node'), '');
  letAllRead(directory);
  return { directory, etc, agent };
}

/** Guests have another user than the server, whose umask may keep everything from him. */
export function letAllRead(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() ? 0o755 : 0o644);
  }
}

/** Stripped here and not by the guest's Node: that would take it 100 ms at every start. */
function plainJavaScript(path: URL): string {
  const emitWarning = process.emitWarning.bind(process);
  // the function is marked experimental while what it does, run by Node itself, is not
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(readFileSync(path, 'utf8'));
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Something of the same kind to mount over. */
function placeFor(original: string, path: string): void {
  if (lstatSync(original).isDirectory()) mkdirSync(path);
  else writeFileSync(path, '');
}
