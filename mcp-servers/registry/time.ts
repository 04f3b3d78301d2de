/** Microseconds since 1970: the precision that the registry stores, safe in a number until the year 2255. */
export type Micros = number;

const MICROS_PER_SECOND = 1_000_000;

/** RFC 3339 as the registry writes it: UTC, trailing zeros of the fraction trimmed. */
export function formatTime(time: Micros): string {
  const seconds = Math.floor(time / MICROS_PER_SECOND);
  const rest = time - seconds * MICROS_PER_SECOND;
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(6, '0').replace(/0+$/, '')}`;
  return `${new Date(seconds * 1000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}${fraction}Z`;
}

const RFC3339 = /^(?<local>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](?<fraction>\d+))?(?<zone>Z|[+-]\d\d:\d\d)$/;

/**
 * An RFC 3339 time with zone, cut to microseconds; undefined when it is none.
 * Source: Go's time.Parse(time.RFC3339), which wants upper-case T and Z, knows no second 60 and allows offsets up to 24:60.
 */
export function parseTime(text: string): Micros | undefined {
  const { local = '', fraction = '', zone = '' } = RFC3339.exec(text)?.groups ?? {};
  const milliseconds = Date.parse(`${local}Z`);
  const offset = offsetMinutes(zone);
  if (Number.isNaN(milliseconds) || offset === undefined) return undefined;
  // Date.parse takes 30 February and 24:00 for the day after.
  if (!new Date(milliseconds).toISOString().startsWith(local)) return undefined;
  return milliseconds * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6)) - offset * 60 * MICROS_PER_SECOND;
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number);
  if (hours > 24 || minutes > 60) return undefined;
  return (hours * 60 + minutes) * (zone.startsWith('-') ? -1 : 1);
}

/**
 * A clock whose every reading is later than all before, across restarts too: no two records share a time, so the order of publication is
 * total, and a client that syncs with `updated_since` misses nothing when the machine's clock steps back.
 * @param after the latest time that was handed out before, 0 for none
 */
export function advancingClock(after: Micros, milliseconds: () => number): () => Micros {
  let last = after;
  return () => (last = Math.max(Math.floor(milliseconds() * 1000), last + 1));
}
