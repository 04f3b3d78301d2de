import { Construct } from 'constructs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PUBLIC_PATH } from './fetch.ts';
import { addObject, File, type PartProps } from './manifest.ts';
import { DECLARATIONS, ports } from './names.ts';

const home = join(import.meta.dirname, '..', 'catalog');

/** The declarations that ship, from the same files as on a laptop; the address is the installation's own. */
export class Catalog extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'catalog');
    const { fetch, catalog, exposure } = template.values;
    const file = new File(this, 'catalog/fetch', { when: template.all(template.has(fetch.enabled), template.has(catalog.enabled)) });
    const isPublic = template.not(template.equals(exposure.kind, 'none'));
    const inside = `https://fetch.${template.namespace}.svc:${ports.https}/mcp`;
    const address = template.choose(isPublic, `https://${exposure.host}${PUBLIC_PATH}`, inside);
    addObject(file, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'fetch',
      namespace: template.namespace,
      part: 'fetch',
      labels: DECLARATIONS,
      // from inside, the public address may lead nowhere: the server itself is asked
      metadata: template.fields(isPublic, { annotations: { 'toolyard.dev/endpoint': inside } }),
      body: { data: { 'server.json': declarationOf('fetch', address) } },
    });
  }
}

function declarationOf(server: string, address: string): string {
  const record = JSON.parse(readFileSync(join(home, server, 'server.json'), 'utf8')) as object;
  return `${JSON.stringify({ ...record, remotes: [{ type: 'streamable-http', url: address }] }, null, 2)}\n`;
}
