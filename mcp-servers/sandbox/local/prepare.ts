import type { BackendDescription } from '../backend.ts';
import type { Log } from '../../../lib/log.ts';
import { bubblewrap } from './bubblewrap.ts';
import type { Cell } from './cell.ts';
import { candidates, installHint, kernelHints, missingPrograms } from './detect.ts';
import { gvisor } from './gvisor.ts';
import { inspectHost, type Host } from './host.ts';
import type { GuestLimits, Isolation, IsolationName } from './isolation.ts';
import { sweep } from './runs.ts';
import { judgeSelfCheck, selfCheckScript } from './self-check.ts';
import { Site } from './site.ts';

export interface MachineSettings {
  readonly isolation: IsolationName | 'auto';
  /** path of gVisor's program; undefined: `runsc` on PATH */
  readonly runsc: string | undefined;
  readonly stateDir: string;
  readonly limits: GuestLimits;
}

/** A machine on which an isolation was seen to work. */
export interface Machine {
  readonly site: Site;
  readonly isolation: Isolation;
  readonly languages: BackendDescription['languages'];
}

export type Prepared = ({ readonly ready: true } & Machine) | { readonly ready: false; readonly reason: string };

const SELF_CHECK_TIMEOUT_MS = 20_000;
const SELF_CHECK_OUTPUT_BYTES = 16 * 1024;

/**
 * Clears up after servers that were killed, then finds the best isolation that works by running a sandbox in it and looking around inside.
 * @throws Error when the state directory cannot be written
 */
export async function prepareMachine(settings: MachineSettings, log: Log): Promise<Prepared> {
  if (process.platform !== 'linux') return { ready: false, reason: installHint(settings.isolation) };
  await sweep(settings.stateDir, log);
  const host = inspectHost();
  const site = new Site(host, settings.stateDir, settings.limits);
  const failures: string[] = [];
  for (const name of candidates(settings.isolation)) {
    const missing = missingPrograms(name, host, settings.runsc);
    const found = missing ?? (await attempt(site, isolationOf(name, { host, site, settings })));
    if (typeof found !== 'string') return { ready: true, site, ...found };
    failures.push(`${name}: ${found}`);
  }
  await site.close();
  return {
    ready: false,
    reason: `No isolation works on this machine. ${failures.join('. ')}.${kernelHints()} ${installHint(settings.isolation)}`,
  };
}

function isolationOf(name: IsolationName, { host, site, settings }: { host: Host; site: Site; settings: MachineSettings }): Isolation {
  const program = (wanted: string): string => host.find(wanted) ?? wanted;
  if (name === 'gvisor') return gvisor(program(settings.runsc ?? 'runsc'), host, site.run, site.limits);
  return bubblewrap(program('bwrap'), host, site.run.files, site.limits);
}

/** The isolation and what was found inside, or why it is not to be used. */
async function attempt(site: Site, isolation: Isolation): Promise<Omit<Machine, 'site'> | string> {
  let cell: Cell | undefined;
  try {
    cell = site.start(isolation);
    const { signal } = new AbortController();
    const starting = cell.guest.kill.bind(cell.guest, `no answer from inside within ${SELF_CHECK_TIMEOUT_MS / 1000} s`);
    const tooLong = setTimeout(starting, SELF_CHECK_TIMEOUT_MS);
    await cell.guest.ready.finally(() => clearTimeout(tooLong));
    const { stdout, stderr } = await cell.run(selfCheckScript, {
      timeoutMs: SELF_CHECK_TIMEOUT_MS,
      outputBytes: SELF_CHECK_OUTPUT_BYTES,
      signal,
    });
    const check = judgeSelfCheck(Buffer.from(stdout).toString());
    return check.holds ? { isolation, languages: check.languages } : `${check.why} ${Buffer.from(stderr).toString().trim()}`;
  } catch (error) {
    return [(error as Error).message, cell?.guest.complaint].join(' ').trim();
  } finally {
    await cell?.remove('the check is over');
  }
}
