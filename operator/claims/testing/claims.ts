import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import { defined } from '../../records/defined.ts';
import { claimFacts, type ClaimFacts } from '../claim.ts';
import { rfc3339 } from '../apply.ts';
import type { ClaimPolicy } from '../policy.ts';

/** When the claims of tests are made, unless they say otherwise; Unix ms */
export const CREATED = Date.parse('2026-11-30T12:00:00Z');
export const SECOND = 1000;

export const policy: ClaimPolicy = { maxAgeMs: 14_400 * SECOND, graceMs: 60 * SECOND, max: 0 };

export type Condition = NonNullable<NonNullable<SandboxClaim['status']>['conditions']>[number];

/** What a claim of a test has beside a name. Times are Unix ms. */
export interface Wish {
  readonly name?: string;
  readonly uid?: string;
  readonly createdAt?: number;
  readonly shutdownAt?: number;
  readonly shutdownPolicy?: 'Delete' | 'DeleteForeground' | 'Retain';
  readonly ttlSeconds?: number;
  readonly deleting?: boolean;
  readonly sandbox?: string;
  readonly conditions?: readonly Condition[];
  readonly annotations?: Readonly<Record<string, string>>;
}

export function condition(type: string, status: 'True' | 'False', reason: string, at = CREATED): Condition {
  return { type, status, reason, message: reason, lastTransitionTime: rfc3339(at) };
}

export const READY = condition('Ready', 'True', 'DependenciesReady', CREATED + SECOND);

/** A claim as the API server shows it. */
export function claim(wish: Wish = {}): SandboxClaim {
  const { name = 'one', sandbox, conditions, annotations } = wish;
  const metadata = {
    name,
    namespace: 'sandboxes',
    uid: wish.uid ?? `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: rfc3339(wish.createdAt ?? CREATED),
    ...(wish.deleting === true && { deletionTimestamp: rfc3339(CREATED) }),
    ...defined({ annotations }),
  };
  const status = defined({ sandbox: sandbox === undefined ? undefined : { name: sandbox }, conditions });
  return { metadata, spec: { warmPoolRef: { name: 'default' }, lifecycle: lifecycleOf(wish) }, status };
}

function lifecycleOf({ shutdownAt, shutdownPolicy, ttlSeconds: ttlSecondsAfterFinished }: Wish) {
  const shutdownTime = shutdownAt === undefined ? undefined : rfc3339(shutdownAt);
  return defined({ shutdownTime, shutdownPolicy, ttlSecondsAfterFinished });
}

export function facts(wish: Wish = {}): ClaimFacts {
  return claimFacts(claim(wish));
}
