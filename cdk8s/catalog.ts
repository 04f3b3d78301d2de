import { Construct } from 'constructs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addObject, File, type PartProps } from './manifest.ts';
import { DECLARATIONS, ports, servers, type Server } from './names.ts';
import { publicPath, runs } from './server.ts';
import type { Template } from './template.ts';

const home = join(import.meta.dirname, '..', 'catalog');

/** The declarations that ship, from the same files as on a laptop; the address is the installation's own. */
export class Catalog extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'catalog');
    for (const part of servers) addDeclaration(this, template, part);
  }
}

function addDeclaration(scope: Construct, template: Template, part: Server): void {
  const { catalog, exposure } = template.values;
  const file = new File(scope, `catalog/${part}`, { when: template.all(runs(template, part), template.has(catalog.enabled)) });
  const isPublic = template.not(template.equals(exposure.kind, 'none'));
  const inside = `https://${part}.${template.namespace}.svc:${ports.https}/mcp`;
  const address = template.choose(isPublic, `https://${exposure.host}${publicPath(part)}`, inside);
  addObject(file, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: part,
    namespace: template.namespace,
    part,
    labels: DECLARATIONS,
    // from inside, the public address may lead nowhere: the server itself is asked
    metadata: template.fields(isPublic, { annotations: { 'toolyard.dev/endpoint': inside } }),
    body: { data: { 'server.json': declarationOf(part, address) } },
  });
}

function declarationOf(server: Server, address: string): string {
  const record = JSON.parse(readFileSync(join(home, server, 'server.json'), 'utf8')) as object;
  return `${JSON.stringify({ ...record, remotes: [{ type: 'streamable-http', url: address }] }, null, 2)}\n`;
}
