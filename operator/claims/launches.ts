import type { ClaimFacts } from './claim.ts';

export interface Launch {
  readonly launch: 'warm' | 'cold';
  readonly seconds: number;
}

/** What is known of one claim until it is gone. */
interface Seen {
  readonly uid: string;
  /** when it came, ms */
  readonly at: number;
  /** it came before anybody looked */
  readonly missed: boolean;
  counted: boolean;
}

/** Notices each claim that becomes ready, once. Those that were ready before anybody looked are not counted: an earlier leader did. */
export class Launches {
  readonly #seen = new Map<string, Seen>();

  /**
   * Takes a claim as it is now, or that it is gone.
   * @param at when this was learned: `time` on the API server's clock, `first` when it was there before anybody looked
   */
  look(key: string, claim: ClaimFacts | undefined, at: { readonly time: number; readonly first: boolean }): Launch | undefined {
    if (claim === undefined) {
      this.#seen.delete(key);
      return undefined;
    }
    const seen = this.#seenOf(claim, at);
    if (seen.counted || claim.readyAt === undefined) return undefined;
    seen.counted = true;
    // watches tell within milliseconds; the claim's own times have whole seconds
    const took = seen.missed ? claim.readyAt - claim.createdAt : at.time - seen.at;
    return { launch: claim.launch ?? 'cold', seconds: Math.max(took, 0) / 1000 };
  }

  #seenOf(claim: ClaimFacts, { time, first }: { readonly time: number; readonly first: boolean }): Seen {
    const before = this.#seen.get(claim.key);
    if (before?.uid === claim.uid) return before;
    const seen = { uid: claim.uid, at: time, missed: first || claim.readyAt !== undefined, counted: first && claim.used };
    this.#seen.set(claim.key, seen);
    return seen;
  }
}
