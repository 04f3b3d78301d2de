import { Construct } from 'constructs';
import { addObject, File, type PartProps } from './manifest.ts';
import { ports, servers, type Server } from './names.ts';
import { registryIsHere } from './registry.ts';
import { publicPath, runs } from './server.ts';
import { unlessEmpty, type Condition, type Template } from './template.ts';

type Exposed = 'registry' | Server;

/** What is reached from outside: by paths of one host, which nobody has to rewrite. */
const paths: readonly { readonly part: Exposed; readonly path: string; readonly exact: boolean; readonly port: number }[] = [
  { part: 'registry', path: '/v0.1', exact: false, port: ports.registry },
  { part: 'registry', path: '/v0', exact: false, port: ports.registry },
  ...servers.map((part) => ({ part, path: publicPath(part), exact: true, port: ports.http })),
];

/** Public addresses, off by default. */
export class Exposure extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'exposure');
    addRoute(this, template);
    addIngress(this, template);
  }
}

function isThere(template: Template, part: Exposed): Condition {
  return part === 'registry' ? registryIsHere(template) : runs(template, part);
}

function addRoute(scope: Construct, template: Template): void {
  const { kind, host, gateway } = template.values.exposure;
  const file = new File(scope, 'exposure/gateway', { when: template.equals(kind, 'gateway') });
  addObject(file, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    name: 'toolyard',
    namespace: template.namespace,
    body: {
      spec: {
        parentRefs: [{ name: gateway.name, namespace: gateway.namespace }],
        hostnames: [host],
        rules: paths.flatMap(({ part, path, exact, port }) =>
          template.when(isThere(template, part), [
            { matches: [{ path: { type: exact ? 'Exact' : 'PathPrefix', value: path } }], backendRefs: [{ name: part, port }] },
          ]),
        ),
      },
    },
  });
}

function addIngress(scope: Construct, template: Template): void {
  const { kind, host, ingress } = template.values.exposure;
  const file = new File(scope, 'exposure/ingress', { when: template.equals(kind, 'ingress') });
  const backend = (part: Exposed, port: number) => ({ service: { name: part, port: { number: port } } });
  addObject(file, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    name: 'toolyard',
    namespace: template.namespace,
    metadata: unlessEmpty(template, 'annotations', ingress.annotations),
    body: {
      spec: {
        ingressClassName: ingress.className,
        tls: [{ hosts: [host], secretName: ingress.tlsSecret }],
        rules: [
          {
            host,
            http: {
              paths: paths.flatMap(({ part, path, exact, port }) =>
                template.when(isThere(template, part), [{ path, pathType: exact ? 'Exact' : 'Prefix', backend: backend(part, port) }]),
              ),
            },
          },
        ],
      },
    },
  });
}
