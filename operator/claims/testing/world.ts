import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import { rfc3339 } from '../apply.ts';
import { claimFacts, type ClaimFacts } from '../claim.ts';
import { isWrite, planNamespace, type Write } from '../plan.ts';
import { CLOCK_MARGIN_MS, type ClaimPolicy } from '../policy.ts';
import { claim, condition, SECOND, type Condition, type Wish } from './claims.ts';

/** What may happen to claims. Claims are chosen by a number, among those that are there. */
export type Happening =
  | { readonly is: 'create'; readonly lifetime: number | undefined; readonly shutdownPolicy: Wish['shutdownPolicy']; readonly ttl?: number }
  | { readonly is: 'renew'; readonly which: number; readonly lifetime: number | undefined }
  | { readonly is: 'ready' | 'away' | 'suspend' | 'finish'; readonly which: number }
  | { readonly is: 'pass'; readonly seconds: number }
  | { readonly is: 'operator' | 'controller'; readonly works: boolean };

/** Something that an operator must never do. */
export type Wrong = string;

/**
 * A namespace with claims, agent-sandbox's controller with a clock of its own, and an operator that plans and writes as often as it is let.
 * The writes do what an API server does with those of apply.ts.
 */
export class ClaimWorld {
  readonly wrongs: Wrong[] = [];
  writes = 0;
  readonly #policy: ClaimPolicy;
  /** by which the controller's clock is ahead, ms */
  readonly #skew: number;
  readonly #claims = new Map<string, SandboxClaim>();
  #now: number;
  #count = 0;
  #operatorWorks = true;
  #controllerWorks = true;

  constructor(policy: ClaimPolicy, { now, skew }: { now: number; skew: number }) {
    this.#policy = policy;
    this.#now = now;
    this.#skew = skew;
  }

  get claims(): readonly ClaimFacts[] {
    return [...this.#claims.values()].map(claimFacts);
  }

  get now(): number {
    return this.#now;
  }

  happen(happening: Happening): void {
    switch (happening.is) {
      case 'create':
        this.#create(happening);
        break;
      case 'pass':
        for (let left = happening.seconds; left > 0; left -= 10) this.#pass(Math.min(left, 10));
        break;
      case 'operator':
        this.#operatorWorks = happening.works;
        break;
      case 'controller':
        this.#controllerWorks = happening.works;
        break;
      default:
        this.#happenTo(happening);
    }
    this.operate();
  }

  /** Whatever the operator plans is done, once for each claim. @returns how many writes that were */
  operate(): number {
    if (!this.#operatorWorks) return 0;
    let writes = 0;
    for (const [key, action] of planNamespace(this.claims, this.#policy, this.#now)) {
      const name = key.slice(key.indexOf('/') + 1);
      const before = this.#claims.get(name);
      if (!isWrite(action) || before === undefined) continue;
      writes += 1;
      this.#judge(claimFacts(before), action);
      if (action.do === 'delete') this.#claims.delete(name);
      else this.#setLifetime(name, rfc3339(action.to), 'Delete');
    }
    this.writes += writes;
    return writes;
  }

  #judge(claim: ClaimFacts, action: Write): void {
    const wrong = action.do === 'shorten' ? this.#wrongCut(claim, action.to) : this.#wrongEnd(claim, action.why);
    const all = claim.deleting ? ['a claim that is being deleted is touched', ...wrong] : wrong;
    this.wrongs.push(...all.map((what) => `${what}: ${JSON.stringify({ claim, action, now: this.#now })}`));
  }

  #wrongCut({ shutdownAt = Infinity, createdAt }: ClaimFacts, to: number): readonly Wrong[] {
    if (to >= shutdownAt) return ['a lifetime is extended'];
    return to === createdAt + this.#policy.maxAgeMs ? [] : ['a lifetime is cut to something else than the maximum'];
  }

  #wrongEnd({ used, shutdownAt = Infinity, finished, ttlMs = 0 }: ClaimFacts, why: string): readonly Wrong[] {
    if (why === 'OverQuota') return used ? ['a claim that is in use is too many'] : [];
    const end = Math.min(shutdownAt, (finished?.at ?? Infinity) + ttlMs);
    return this.#now < end + this.#policy.graceMs ? ['a claim is ended before its time'] : [];
  }

  #create({ lifetime, shutdownPolicy, ttl }: Extract<Happening, { is: 'create' }>): void {
    this.#count += 1;
    const name = `c${this.#count}`;
    // the API server stamps whole seconds
    const createdAt = Math.floor(this.#now / SECOND) * SECOND;
    this.#claims.set(
      name,
      claim({
        name,
        createdAt,
        ...(lifetime !== undefined && { shutdownAt: this.#now + lifetime * SECOND }),
        ...(shutdownPolicy !== undefined && { shutdownPolicy }),
        ...(ttl !== undefined && { ttlSeconds: ttl }),
      }),
    );
  }

  #happenTo(happening: Extract<Happening, { which: number }>): void {
    const names = [...this.#claims.keys()];
    const name = names[happening.which % names.length];
    if (name === undefined) return;
    const at = this.#now + this.#skew;
    if (happening.is === 'renew') {
      const { lifetime } = happening;
      this.#setLifetime(name, lifetime === undefined ? undefined : rfc3339(this.#now + lifetime * SECOND), undefined);
    } else if (happening.is === 'finish') {
      this.#setConditions(name, [condition('Ready', 'False', 'PodFailed', at), condition('Finished', 'True', 'PodFailed', at)]);
    } else {
      const ready = { ready: 'DependenciesReady', away: 'DependenciesNotReady', suspend: 'SandboxSuspended' }[happening.is];
      this.#setConditions(name, [condition('Ready', happening.is === 'ready' ? 'True' : 'False', ready, at)]);
    }
  }

  #pass(seconds: number): void {
    this.#now += seconds * SECOND;
    if (this.#controllerWorks) this.#control();
    this.operate();
  }

  /** As agent-sandbox 0.5.6 ends claims. */
  #control(): void {
    for (const [name, made] of this.#claims) {
      const { shutdownAt, ttlMs, finished, deletes } = claimFacts(made);
      const ends = Math.min(shutdownAt ?? Infinity, finished === undefined || ttlMs === undefined ? Infinity : finished.at + ttlMs);
      if (this.#now + this.#skew < ends) continue;
      if (deletes) this.#claims.delete(name);
      else this.#setConditions(name, [condition('Ready', 'False', 'ClaimExpired', this.#now + this.#skew)]);
    }
  }

  #setLifetime(name: string, shutdownTime: string | undefined, shutdownPolicy: 'Delete' | undefined): void {
    const before = this.#claims.get(name);
    if (before === undefined) return;
    const { shutdownTime: _given, ...others } = before.spec.lifecycle ?? {};
    const lifecycle = { ...others, ...(shutdownTime !== undefined && { shutdownTime }), ...(shutdownPolicy && { shutdownPolicy }) };
    this.#claims.set(name, { ...before, spec: { ...before.spec, lifecycle } });
  }

  #setConditions(name: string, conditions: readonly Condition[]): void {
    const before = this.#claims.get(name);
    if (before === undefined) return;
    this.#claims.set(name, { ...before, status: { ...before.status, conditions } });
  }
}

/** How long a claim may be there with the operator working from its creation on, ms. */
export function longestStay({ maxAgeMs, graceMs }: ClaimPolicy): number {
  return maxAgeMs + CLOCK_MARGIN_MS + graceMs;
}
