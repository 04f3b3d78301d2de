/** The exit code with which our processes say that their settings are wrong: the same settings would be refused again. */
const BAD_SETTINGS = 2;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** a process that ran this long has recovered: the next death counts as the first */
const RECOVERED_MS = 60_000;
/** a part that was never ready and died this often is not worth more tries */
const GIVE_UP_AFTER = 4;

export interface Death {
  /** exit code, or the signal's name */
  readonly by: number | NodeJS.Signals;
  readonly ranMs: number;
  /** deaths in a row before this one */
  readonly before: number;
  readonly wasEverReady: boolean;
}

export type AfterDeath =
  | { do: 'restart'; delayMs: number; deaths: number }
  /** `settings`: it refused them */
  | { do: 'give up'; why: string; settings: boolean };

/** What to do about a child process that ended without being asked to. */
export function afterDeath(death: Death): AfterDeath {
  const deaths = death.ranMs >= RECOVERED_MS ? 1 : death.before + 1;
  if (death.by === BAD_SETTINGS && !death.wasEverReady) {
    return { do: 'give up', why: 'it refused its settings', settings: true };
  }
  if (!death.wasEverReady && deaths >= GIVE_UP_AFTER) {
    return { do: 'give up', why: `it ended ${deaths} times without ever being ready`, settings: false };
  }
  return { do: 'restart', delayMs: Math.min(FIRST_DELAY_MS * 2 ** (deaths - 1), LONGEST_DELAY_MS), deaths };
}
