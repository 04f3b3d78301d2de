import { z } from 'zod';
import type { Guarantee } from '../backend.ts';

/** Of a SandboxTemplate, what tells what holds its sandboxes; everything may be missing. */
const quantity = z.union([z.string(), z.number()]).transform(String);
const container = z.object({
  image: z.string().optional(),
  resources: z.object({ limits: z.record(z.string(), quantity).optional() }).optional(),
  securityContext: z
    .object({
      readOnlyRootFilesystem: z.boolean().optional(),
      allowPrivilegeEscalation: z.boolean().optional(),
      runAsNonRoot: z.boolean().optional(),
    })
    .optional(),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).optional(),
});
export const templateSchema = z.object({
  spec: z.object({
    podTemplate: z.object({
      spec: z.object({
        runtimeClassName: z.string().optional(),
        automountServiceAccountToken: z.boolean().optional(),
        securityContext: z.object({ runAsNonRoot: z.boolean().optional() }).optional(),
        containers: z.array(container).min(1),
        volumes: z.array(z.object({ name: z.string(), emptyDir: z.object({ sizeLimit: quantity.optional() }).optional() })).optional(),
      }),
    }),
    networkPolicy: z.object({ egress: z.array(z.unknown()).optional() }).nullish(),
    networkPolicyManagement: z.string().optional(),
  }),
});

export type Template = z.output<typeof templateSchema>;

export interface TemplateFacts {
  readonly isolation: string;
  readonly memoryBytes?: number;
  readonly diskBytes?: number;
  readonly cpus?: number;
  readonly guarantees: readonly Guarantee[];
}

/** The word for pods whose template names no RuntimeClass: whatever the nodes use by default. */
const NODE_DEFAULT = 'container';

/** What a template promises, in words that a caller can rely on: no more than what it says. Pure. */
export function templateFacts({ spec }: Template): TemplateFacts {
  const pod = spec.podTemplate.spec;
  const [main] = pod.containers;
  const limits = main?.resources?.limits ?? {};
  const [memoryBytes, cpus, diskBytes] = [bytesOf(limits['memory']), amountOf(limits['cpu']), workspaceBytes(pod)];
  return {
    isolation: pod.runtimeClassName ?? NODE_DEFAULT,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(diskBytes !== undefined && { diskBytes }),
    ...(cpus !== undefined && { cpus }),
    guarantees: [kernel(pod), network(spec), user(pod), memory(memoryBytes), disk(diskBytes), token(pod)],
  };
}

type Pod = Template['spec']['podTemplate']['spec'];

function kernel({ runtimeClassName }: Pod): Guarantee {
  const what = 'host kernel';
  if (runtimeClassName === undefined) {
    return {
      what,
      holds: false,
      how: "the template names no RuntimeClass: the guest shares its node's kernel, unless the node's default differs",
    };
  }
  return { what, holds: true, how: `pods run under RuntimeClass ${runtimeClassName}, which the cluster's administrator has set up` };
}

function network({ networkPolicy, networkPolicyManagement }: Template['spec']): Guarantee {
  const what = 'network';
  if (networkPolicyManagement === 'Unmanaged') {
    return { what, holds: false, how: 'the template leaves network policies to its namespace, which this server does not read' };
  }
  if (networkPolicy === undefined || networkPolicy === null) {
    return { what, holds: false, how: 'the template keeps guests from private addresses only, not from the Internet' };
  }
  const open = (networkPolicy.egress ?? []).length > 0;
  return { what, holds: !open, how: open ? 'the template lets guests reach some addresses' : 'the template lets guests reach nothing' };
}

function user({ securityContext, containers }: Pod): Guarantee {
  const nonRoot = containers.every((each) => each.securityContext?.runAsNonRoot ?? securityContext?.runAsNonRoot ?? false);
  return {
    what: 'user',
    holds: nonRoot,
    how: nonRoot ? 'guests are never root in their pod' : 'the template does not keep guests from being root in their pod',
  };
}

function memory(bytes: number | undefined): Guarantee {
  const what = 'memory';
  if (bytes === undefined) return { what, holds: false, how: 'the template sets no limit' };
  return { what, holds: true, how: 'the pod is ended when it uses more, and starts anew' };
}

function disk(bytes: number | undefined): Guarantee {
  const what = 'disk';
  if (bytes === undefined) return { what, holds: false, how: 'the template sets no size for /workspace' };
  return { what, holds: true, how: 'the volume of /workspace has this size' };
}

function token({ automountServiceAccountToken }: Pod): Guarantee {
  // agent-sandbox sets it to false when a template does not say
  const mounted = automountServiceAccountToken ?? false;
  return {
    what: 'cluster credentials',
    holds: !mounted,
    how: mounted ? 'the template gives guests a token of the cluster' : 'pods have no token of the cluster',
  };
}

function workspaceBytes({ containers: [main], volumes = [] }: Pod): number | undefined {
  const mount = main?.volumeMounts?.find(({ mountPath }) => mountPath === '/workspace');
  return bytesOf(volumes.find(({ name }) => name === mount?.name)?.emptyDir?.sizeLimit);
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** A quantity as Kubernetes writes it: `512Mi`, `0.5`, `250m`. */
export function amountOf(text: string | undefined): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]{0,2})$/.exec(text ?? '') ?? [];
  const factor = units[unit];
  return number === '' || factor === undefined ? undefined : Number(number) * factor;
}

function bytesOf(text: string | undefined): number | undefined {
  const amount = amountOf(text);
  return amount === undefined ? undefined : Math.round(amount);
}
