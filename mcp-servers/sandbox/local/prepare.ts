import type { BackendDescription } from '../backend.ts';
import type { Log } from '../../../lib/log.ts';
import { unlessAborted } from '../abort.ts';
import { bubblewrap } from './bubblewrap.ts';
import type { Cell } from './cell.ts';
import { candidates, kernelNeeded, missingPrograms, unusable, type Failure } from './detect.ts';
import { gvisor } from './gvisor.ts';
import { inspectHost, pathOf } from './host.ts';
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
 * @param signal nobody waits for the outcome any more
 * @throws Error when the state directory cannot be written
 */
export async function prepareMachine(settings: MachineSettings, log: Log, signal: AbortSignal): Promise<Prepared> {
  if (process.platform !== 'linux') return { ready: false, reason: kernelNeeded(process.platform) };
  await sweep(settings.stateDir, log);
  const site = await Site.open(inspectHost(), settings, log);
  const failures: Failure[] = [];
  for (const name of candidates(settings.isolation)) {
    const missing = missingPrograms(name, site.ground.host, settings.runsc);
    const found = missing ?? (await attempt(name, { site, settings, signal }));
    if (typeof found !== 'string') return { ready: true, site, ...found };
    failures.push({ name, why: found, absent: missing !== undefined });
  }
  await site.close();
  return { ready: false, reason: unusable(failures) };
}

interface Attempt {
  readonly site: Site;
  readonly settings: MachineSettings;
  readonly signal: AbortSignal;
}

/** The isolation and what was found inside, or why it is not to be used. */
async function attempt(name: IsolationName, { site, settings, signal }: Attempt): Promise<Omit<Machine, 'site'> | string> {
  const late = AbortSignal.timeout(SELF_CHECK_TIMEOUT_MS);
  let cell: Cell | undefined;
  try {
    const isolation = isolationOf(name, site, settings.runsc);
    cell = site.start(isolation);
    await unlessAborted(cell.guest.ready, AbortSignal.any([signal, late]));
    const output = { timeoutMs: SELF_CHECK_TIMEOUT_MS, outputBytes: SELF_CHECK_OUTPUT_BYTES };
    const { stdout, stderr } = await cell.run(selfCheckScript, { ...output, signal });
    const check = judgeSelfCheck(Buffer.from(stdout).toString());
    return check.holds ? { isolation, languages: check.languages } : `${check.why} ${Buffer.from(stderr).toString().trim()}`;
  } catch (error) {
    const why = late.aborted ? `no answer from inside within ${SELF_CHECK_TIMEOUT_MS / 1000} s` : (error as Error).message;
    return [why, cell?.guest.complaint].join(' ').trim();
  } finally {
    await cell?.remove('the check is over');
  }
}

function isolationOf(name: IsolationName, { ground }: Site, runsc = 'runsc'): Isolation {
  if (name === 'gvisor') return gvisor(pathOf(runsc, ground.host), ground);
  return bubblewrap(pathOf('bwrap', ground.host), ground);
}
