import { App } from 'cdk8s';
import { Construct } from 'constructs';
import { Catalog } from './catalog.ts';
import { Certificates } from './certificates.ts';
import { Exposure } from './exposure.ts';
import { Fetch } from './fetch.ts';
import { addObject, File, type PartProps } from './manifest.ts';
import { NetworkPolicies } from './network-policies.ts';
import { Operator } from './operator.ts';
import { PostgreSQL } from './postgresql.ts';
import { Rbac } from './rbac.ts';
import { Registry } from './registry.ts';
import { Sandbox } from './sandbox.ts';
import { Sandboxes } from './sandboxes.ts';
import type { Template } from './template.ts';

/** The namespace of plain YAML; a chart takes its release's. */
export const NAMESPACE = 'toolyard';

/** Everything but the namespaces, which Helm leaves to its user. */
class Toolyard extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'toolyard');
    new Rbac(this, { template });
    new Operator(this, { template });
    new Registry(this, { template });
    new PostgreSQL(this, { template });
    new Fetch(this, { template });
    new Sandbox(this, { template });
    new Sandboxes(this, { template });
    new Catalog(this, { template });
    new Certificates(this, { template });
    new NetworkPolicies(this, { template });
    new Exposure(this, { template });
  }
}

/** Every file of manifests, also those whose condition does not hold. */
export function filesOf(template: Template): readonly File[] {
  const app = new App();
  new Toolyard(app, { template });
  return app.node.findAll().filter((node): node is File => node instanceof File);
}

/** A namespace whose pods all run as the Pod Security standard `restricted` wants it. */
export function namespaceFile(path: string, name: string): File {
  const file = new File(new App(), path);
  const levels = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
  addObject(file, { apiVersion: 'v1', kind: 'Namespace', name, labels: Object.fromEntries(levels) as object, body: {} });
  return file;
}

/** The objects of a file, as they are applied. */
export function objectsOf(file: File): readonly object[] {
  return file.toJson() as readonly object[];
}
