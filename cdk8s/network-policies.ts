import { Construct } from 'constructs';
import { addObject, File, type PartProps } from './manifest.ts';
import { CLIENTS, PART_OF, ports, selectorOf, type Part, type Server } from './names.ts';
import { databaseIsHere } from './postgresql.ts';
import { publicIPv4, publicIPv6 } from './public-addresses.ts';
import { registryIsHere } from './registry.ts';
import { runs } from './server.ts';
import type { Condition, Template } from './template.ts';

interface Rules {
  readonly part: Part;
  readonly when: Condition;
  /** fields of the spec: without `ingress` none is let in */
  readonly ingress: object;
  /** @default none */
  readonly egress?: readonly object[];
}

/** What may reach what; everything else is denied. */
export class NetworkPolicies extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'network-policies');
    const enabled = template.has(template.values.networkPolicies.enabled);
    const denied = new File(this, 'network-policies/default-deny', { when: enabled });
    addPolicy(denied, template, { name: 'toolyard-default-deny', podSelector: { matchLabels: PART_OF } });
    for (const rules of allRules(template)) {
      const file = new File(this, `network-policies/${rules.part}`, { when: template.all(enabled, rules.when) });
      const { part, ingress, egress } = rules;
      addPolicy(file, template, {
        name: part,
        part,
        podSelector: { matchLabels: selectorOf(part) },
        ...ingress,
        ...(egress && { egress }),
      });
    }
  }
}

function allRules(template: Template): readonly Rules[] {
  return [operatorRules, fetchRules, sandboxRules, registryRules, databaseRules].map((rules) => rules(template));
}

export interface Policy {
  readonly name: string;
  /** @default the installation's */
  readonly namespace?: string;
  readonly part?: Part;
  readonly podSelector: object;
  readonly ingress?: readonly object[];
  readonly egress?: readonly object[];
}

/** Denies what its rules do not allow, in both directions. */
export function addPolicy(file: File, template: Template, { name, namespace = template.namespace, part, ...spec }: Policy): void {
  addObject(file, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    name,
    namespace,
    ...(part && { part }),
    body: { spec: { ...spec, policyTypes: ['Ingress', 'Egress'] } },
  });
}

/** Asks servers wherever declarations may name them: in watched namespaces, and at public addresses. */
function operatorRules(template: Template): Rules {
  const { networkPolicies, operator, metrics } = template.values;
  const { operatorEgress } = networkPolicies;
  const { cidrs, namespaces } = operator.probeAllow;
  return {
    part: 'operator',
    when: true,
    ingress: template.fields(template.has(metrics.fromNamespaces), { ingress: metricsFrom(template, ports.metrics) }),
    egress: [
      dnsRule(template),
      apiServerRule(template),
      ...template.when(registryIsHere(template), [{ to: [podsOf('registry')], ports: [tcp(ports.registry)] }]),
      {
        to: [
          ...template.when(template.has(operator.allNamespaces), [{ namespaceSelector: {} }]),
          ...template.when(template.not(template.has(operator.allNamespaces)), [
            namespaceCalled(template.namespace),
            ...template.each(operator.namespaces, namespaceCalled),
            ...template.each(namespaces, namespaceCalled),
          ]),
          ...template.each(cidrs, blockOf),
          ...publicPeers(template),
        ],
        ports: [{ protocol: 'TCP' }],
      },
      ...template.items(operatorEgress),
    ],
  };
}

function fetchRules(template: Template): Rules {
  const { networkPolicies } = template.values;
  return {
    part: 'fetch',
    when: runs(template, 'fetch'),
    ingress: serverIngress(template),
    egress: [
      dnsRule(template),
      { to: publicPeers(template), ports: [{ protocol: 'TCP' }] },
      ...template.items(networkPolicies.fetchEgress),
    ],
  };
}

/** Of the outside it needs its API server only: pods are dialled by address. */
function sandboxRules(template: Template): Rules {
  const { networkPolicies, sandboxNamespace } = template.values;
  return {
    part: 'sandbox',
    when: runs(template, 'sandbox'),
    ingress: serverIngress(template),
    egress: [
      apiServerRule(template),
      { to: [namespaceCalled(sandboxNamespace)], ports: runtimePorts },
      ...template.items(networkPolicies.sandboxEgress),
    ],
  };
}

function serverIngress(template: Template): object {
  const { metrics } = template.values;
  return {
    ingress: [
      { from: [clients, podsOf('operator'), ...exposedTo(template)], ports: [tcp(ports.http), tcp(ports.https)] },
      ...template.when(template.has(metrics.fromNamespaces), metricsFrom(template, ports.metrics)),
    ],
  };
}

function registryRules(template: Template): Rules {
  const { registry, networkPolicies, metrics } = template.values;
  const official = template.equals(registry.kind, 'official');
  return {
    part: 'registry',
    when: registryIsHere(template),
    ingress: {
      ingress: [
        { from: [clients, podsOf('operator'), ...exposedTo(template)], ports: [tcp(ports.registry)] },
        ...template.when(template.has(metrics.fromNamespaces), metricsFrom(template, ports.registry)),
      ],
    },
    egress: [
      dnsRule(template),
      ...template.when(databaseIsHere(template), [{ to: [podsOf('postgresql')], ports: [tcp(ports.postgresql)] }]),
      ...template.when(template.all(official, template.has(registry.validatePackages)), [{ to: publicPeers(template), ports: [tcp(443)] }]),
      ...template.items(networkPolicies.registryEgress),
    ],
  };
}

function databaseRules(template: Template): Rules {
  return {
    part: 'postgresql',
    when: databaseIsHere(template),
    ingress: { ingress: [{ from: [podsOf('registry')], ports: [tcp(ports.postgresql)] }] },
  };
}

const clients = { namespaceSelector: { matchLabels: CLIENTS } };

function podsOf(part: Part): object {
  return { podSelector: { matchLabels: selectorOf(part) } };
}

/** The pods of a server, seen from another namespace. */
export function serverIn(namespace: string, part: Server): object {
  return { ...namespaceCalled(namespace), ...podsOf(part) };
}

function namespaceCalled(name: string): object {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } };
}

function blockOf(cidr: string): object {
  return { ipBlock: { cidr } };
}

function tcp(port: number): object {
  return { protocol: 'TCP', port };
}

export const runtimePorts = [tcp(ports.runtime.grpc), tcp(ports.runtime.rest)];

function apiServerRule(template: Template): object {
  const { apiServer } = template.values.networkPolicies;
  return {
    ...template.fields(template.has(apiServer.cidrs), { to: template.each(apiServer.cidrs, blockOf) }),
    ports: template.each(apiServer.ports, tcp),
  };
}

function dnsRule(template: Template): object {
  const { peers, cidrs, ports: numbers } = template.values.networkPolicies.dns;
  return {
    to: [...template.items(peers), ...template.each(cidrs, blockOf)],
    ports: [...template.each(numbers, (port) => ({ protocol: 'UDP', port })), ...template.each(numbers, tcp)],
  };
}

function publicPeers(template: Template): readonly object[] {
  const { ipv4, ipv6 } = template.values.networkPolicies.clusterCidrs;
  return [
    { ipBlock: { cidr: publicIPv4.cidr, except: [...publicIPv4.except, ...template.items(ipv4)] } },
    { ipBlock: { cidr: publicIPv6.cidr, except: [...publicIPv6.except, ...template.items(ipv6)] } },
  ];
}

function exposedTo(template: Template): readonly object[] {
  const { kind, fromNamespace } = template.values.exposure;
  return template.when(template.not(template.equals(kind, 'none')), [namespaceCalled(fromNamespace)]);
}

function metricsFrom(template: Template, port: number): readonly object[] {
  return [{ from: template.each(template.values.metrics.fromNamespaces, namespaceCalled), ports: [tcp(port)] }];
}
