import { Construct } from 'constructs';
import { addObject, File, type PartProps } from './manifest.ts';
import { PART_OF, POOL, ports } from './names.ts';
import { addPolicy, runtimePorts, serverIn } from './network-policies.ts';
import { confined, placement, runAs } from './pod.ts';
import { grant } from './rbac.ts';
import { runs } from './server.ts';
import { unlessEmpty, type Template } from './template.ts';

const EXTENSIONS = 'extensions.agents.x-k8s.io';
const CORE = 'agents.x-k8s.io';
const API = `${EXTENSIONS}/v1beta1`;
/** The guest's, in Dockerfile.sandbox too. */
const USER = 1000;

/** What is in the namespace of sandboxes: the pool that they come from, and what limits them. All of agent-sandbox's objects are in one file. */
export class Sandboxes extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'sandboxes');
    const when = runs(template, 'sandbox');
    const { create } = template.values.sandbox.runtimeClass;
    addRights(new File(this, 'sandboxes/roles', { when }), template);
    addLimits(new File(this, 'sandboxes/limits', { when }), template);
    addRuntimeClass(new File(this, 'sandboxes/runtime-class', { when: template.all(when, template.has(create)) }), template);
    addPool(new File(this, 'sandboxes/pool', { when }), template);
  }
}

function addRights(file: File, template: Template): void {
  const namespace = template.values.sandboxNamespace;
  grant(file, template, {
    part: 'sandbox',
    name: 'sandbox',
    namespace,
    rules: [
      { apiGroups: [EXTENSIONS], resources: ['sandboxclaims'], verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'] },
      { apiGroups: [EXTENSIONS], resources: ['sandboxwarmpools', 'sandboxtemplates'], verbs: ['get', 'list'] },
      { apiGroups: [CORE], resources: ['sandboxes'], verbs: ['get', 'list'] },
    ],
  });
  grant(file, template, {
    name: 'operator',
    namespace,
    rules: [
      { apiGroups: [EXTENSIONS], resources: ['sandboxclaims'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
      { apiGroups: [EXTENSIONS], resources: ['sandboxwarmpools'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [CORE], resources: ['sandboxes'], verbs: ['get', 'list', 'watch'] },
    ],
  });
}

/** Of every pod in the namespace, whoever made it: without the policy a guest would be a pod like any other. */
function addLimits(file: File, template: Template): void {
  const { sandbox, sandboxNamespace: namespace } = template.values;
  addPolicy(file, template, {
    name: 'sandboxes',
    namespace,
    podSelector: {},
    ingress: [{ from: [serverIn(template.namespace, 'sandbox')], ports: runtimePorts }],
  });
  addObject(file, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    name: 'sandboxes',
    namespace,
    body: {
      spec: {
        hard: {
          [`count/sandboxclaims.${EXTENSIONS}`]: template.text(sandbox.quota.claims),
          pods: template.text(sandbox.quota.pods),
          'limits.memory': sandbox.quota.memory,
        },
      },
    },
  });
}

function addRuntimeClass(file: File, template: Template): void {
  const { name } = template.values.sandbox.runtimeClass;
  addObject(file, { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', name, body: { handler: 'runsc' } });
}

function addPool(file: File, template: Template): void {
  const { sandboxNamespace: namespace, sandbox } = template.values;
  addObject(file, {
    apiVersion: API,
    kind: 'SandboxTemplate',
    name: POOL,
    namespace,
    body: {
      spec: {
        // a warm pod cannot take either, and who may make claims may not change pods
        envVarsInjectionPolicy: 'Disallowed',
        volumeClaimTemplatesPolicy: 'Disallowed',
        // agent-sandbox's own policy lets sandboxes out to public addresses, and nobody in but its router
        networkPolicyManagement: 'Unmanaged',
        podTemplate: podTemplate(template),
      },
    },
  });
  addObject(file, {
    apiVersion: API,
    kind: 'SandboxWarmPool',
    name: POOL,
    namespace,
    body: {
      spec: {
        replicas: sandbox.pool.replicas,
        sandboxTemplateRef: { name: POOL },
        // after an upgrade nobody gets the image of before
        updateStrategy: { type: 'Recreate' },
      },
    },
  });
}

function podTemplate(template: Template): object {
  const { image, sandbox } = template.values;
  const { pool, runtimeClass } = sandbox;
  return {
    metadata: {
      labels: { 'app.kubernetes.io/name': 'sandboxes', ...PART_OF, ...template.entries(pool.podLabels) },
      ...unlessEmpty(template, 'annotations', pool.podAnnotations),
    },
    spec: {
      runtimeClassName: runtimeClass.name,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // the cluster's names are not for guests
      dnsPolicy: 'Default',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 1,
      securityContext: runAs(USER),
      ...unlessEmpty(template, 'imagePullSecrets', image.pullSecrets),
      ...placement(template, pool),
      containers: [
        {
          name: 'sandbox',
          image: `${image.registry}/toolyard-sandbox:${pool.imageTag}`,
          imagePullPolicy: image.pullPolicy,
          // the protocol spelled out as the API server does it, so that tools that compare see no difference
          ports: [
            { name: 'grpc', containerPort: ports.runtime.grpc, protocol: 'TCP' },
            { name: 'rest', containerPort: ports.runtime.rest, protocol: 'TCP' },
          ],
          startupProbe: { ...health, periodSeconds: 1, failureThreshold: 60 },
          // no liveness probe: a guest that keeps its runtime busy keeps its files
          readinessProbe: { ...health, periodSeconds: 10, failureThreshold: 2 },
          resources: pool.resources,
          securityContext: confined,
          volumeMounts: [
            { name: 'workspace', mountPath: '/workspace' },
            { name: 'tmp', mountPath: '/tmp' },
          ],
        },
      ],
      volumes: [inMemory('workspace', pool.workspaceSize), inMemory('tmp', pool.tmpSize)],
    },
  };
}

const health = { httpGet: { path: '/v1/health', port: 'rest' }, timeoutSeconds: 2 };

/** In memory a guest meets the limit at once; on disk its whole pod would be evicted some seconds later. */
function inMemory(name: string, sizeLimit: string): object {
  return { name, emptyDir: { medium: 'Memory', sizeLimit } };
}
