import { Construct } from 'constructs';
import type { PartProps } from './manifest.ts';
import { env } from './pod.ts';
import { addServer } from './server.ts';
import type { Template } from './template.ts';

/** The fetch server. */
export class Fetch extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'fetch');
    addServer(this, template, { part: 'fetch', tmp: '64Mi', env: fetchEnv(template) });
  }
}

function fetchEnv(template: Template): readonly object[] {
  const { fetch, networkPolicies } = template.values;
  const { ipv4, ipv6 } = networkPolicies.clusterCidrs;
  return [
    env('FETCH_MAX_WORKERS', template.text(fetch.maxWorkers)),
    env('FETCH_WORKERS', template.text(fetch.maxWorkers)),
    env('FETCH_WORKER_MEMORY_MIB', template.text(fetch.workerMemoryMiB)),
    env('FETCH_IGNORE_ROBOTS', template.text(fetch.ignoreRobots)),
    ...template.when(template.has(fetch.allowOrigins), [env('FETCH_ALLOW_ORIGINS', template.join(fetch.allowOrigins))]),
    ...template.when(template.any(template.has(ipv4), template.has(ipv6)), [
      env('FETCH_DENY_CIDRS', `${template.join(ipv4)},${template.join(ipv6)}`),
    ]),
  ];
}
