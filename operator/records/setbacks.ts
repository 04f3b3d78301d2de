import type { Setback } from './describe.ts';

/** Something that did not work, and when to try exactly that again. */
interface Blocked {
  readonly setback: Setback;
  readonly tries: number;
  /** ms, on the keeper's clock */
  readonly until: number;
}

const FIRST_RETRY_MS = 1_000;
/** What lasts ends when somebody changes something here. */
const LONGEST_RETRY_MS = { lasting: 10 * 60_000, passing: 60_000 };

/** What was tried for each name in vain, so that it is tried again ever less often, and nothing else has to wait for it. */
export class Setbacks {
  readonly #blocked = new Map<string, Map<string, Blocked>>();

  /** @param key tells apart what can be tried for one name */
  note(name: string, key: string, setback: Setback, now: number): void {
    const ofName = this.#blocked.get(name) ?? new Map<string, Blocked>();
    const tries = (ofName.get(key)?.tries ?? 0) + 1;
    const longest = setback.passing === true ? LONGEST_RETRY_MS.passing : LONGEST_RETRY_MS.lasting;
    ofName.set(key, { setback, tries, until: now + Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), longest) });
    this.#blocked.set(name, ofName);
  }

  of(name: string, key: string): Setback | undefined {
    return this.#blocked.get(name)?.get(key)?.setback;
  }

  /** Whether it is too early to try this again. */
  holds(name: string, key: string, now: number): boolean {
    return (this.#blocked.get(name)?.get(key)?.until ?? -Infinity) > now;
  }

  /** Forgets all of a name but these. */
  retain(name: string, keys: ReadonlySet<string>): void {
    const ofName = this.#blocked.get(name);
    for (const key of ofName?.keys() ?? []) if (!keys.has(key)) ofName?.delete(key);
    if (ofName?.size === 0) this.#blocked.delete(name);
  }

  forget(name: string, key: string): void {
    this.#blocked.get(name)?.delete(key);
  }

  /** When each of them may be tried again. */
  times(): readonly number[] {
    return [...this.#blocked.values()].flatMap((ofName) => Array.from(ofName.values(), ({ until }) => until));
  }
}
