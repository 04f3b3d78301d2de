import { Construct } from 'constructs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addObject, addService, addServiceAccount, addStatefulSet, File, type PartProps } from './manifest.ts';
import { made, PASSWORD_KEY, ports } from './names.ts';
import { env, fromConfigMap, fromSecret, podTemplate, probes, scratch } from './pod.ts';
import type { Condition, Template } from './template.ts';

const part = 'postgresql';
const DATA = '/var/lib/postgresql/data';
const PASSWORD = '/etc/toolyard/database';
const SCRIPTS = '/etc/toolyard/postgresql';

export const database = {
  user: 'registry',
  name: 'registry',
  /** Kubernetes puts the password in place of $(DATABASE_PASSWORD). */
  url: ({ namespace }: Template): string =>
    `postgres://${database.user}:$(DATABASE_PASSWORD)@${part}.${namespace}.svc:${ports.postgresql}/${database.name}?sslmode=disable`,
};

/** Whether the official registry's database is one of these manifests. */
export function databaseIsHere(template: Template): Condition {
  const { registry } = template.values;
  return template.all(template.equals(registry.kind, 'official'), template.not(template.has(registry.databaseUrlSecret)));
}

/** The official registry's database: one pod with one volume. */
export class PostgreSQL extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, part);
    const { postgresql } = template.values;
    const file = new File(this, 'registry/postgresql', { when: databaseIsHere(template) });
    const uid = template.text(postgresql.user);
    addServiceAccount(file, template, part);
    addService(file, template, part, [{ name: 'postgresql', port: ports.postgresql }]);
    addObject(file, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: part,
      namespace: template.namespace,
      part,
      body: {
        data: {
          'start.sh': scriptOf('start.sh'),
          'ready.sh': scriptOf('ready.sh'),
          'pg_hba.conf': `local all all peer\nhost ${database.name} ${database.user} all scram-sha-256\n`,
          // initdb asks for the name of whom it runs as, and images differ in what they call that user id
          passwd: `root:x:0:0:root:/root:/bin/sh\npostgres:x:${uid}:${uid}:PostgreSQL:${DATA}:/bin/sh\n`,
        },
      },
    });
    addStatefulSet(file, template, { part, pods: databasePod(template), storage: postgresql });
  }
}

function databasePod(template: Template): object {
  const { postgresql } = template.values;
  return podTemplate(template, {
    part,
    values: postgresql,
    image: postgresql.image,
    command: ['/bin/bash', `${SCRIPTS}/start.sh`],
    env: [
      env('PGDATA', `${DATA}/pgdata`),
      env('DATABASE_USER', database.user),
      env('DATABASE_NAME', database.name),
      env('PASSWORD_FILE', `${PASSWORD}/${PASSWORD_KEY}`),
      env('HBA_FILE', `${SCRIPTS}/pg_hba.conf`),
      env('PORT', String(ports.postgresql)),
    ],
    ports: [{ name: 'postgresql', port: ports.postgresql }],
    probes: probes({ exec: { command: ['/bin/bash', `${SCRIPTS}/ready.sh`] } }),
    mounts: [
      fromConfigMap('scripts', SCRIPTS, part),
      { name: 'scripts', path: '/etc/passwd', subPath: 'passwd' },
      fromSecret('password', PASSWORD, template.or(postgresql.passwordSecret, made.database)),
      { name: 'data', path: DATA, readOnly: false },
      scratch('tmp', '/tmp', '64Mi'),
    ],
    user: postgresql.user,
    // TERM would wait for clients, and the registry keeps its connections: INT ends them
    preStop: ['/bin/bash', '-c', 'kill -INT 1'],
  });
}

function scriptOf(name: string): string {
  return readFileSync(join(import.meta.dirname, 'postgresql', name), 'utf8');
}
