import { Construct } from 'constructs';
import type { PartProps } from './manifest.ts';
import { HANDLE_KEY, made, POOL } from './names.ts';
import { env, fromSecret } from './pod.ts';
import { addServer } from './server.ts';
import type { Template } from './template.ts';

const KEY = '/etc/toolyard/handle-key';

/** The sandbox server: makes and uses sandboxes in a namespace of their own. */
export class Sandbox extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'sandbox');
    const key = template.or(template.values.sandbox.handleKeySecret, made.handleKey);
    addServer(this, template, {
      part: 'sandbox',
      tmp: '16Mi',
      token: true,
      env: sandboxEnv(template),
      mounts: [fromSecret('handle-key', KEY, key)],
    });
  }
}

function sandboxEnv(template: Template): readonly object[] {
  const { sandbox, sandboxNamespace } = template.values;
  return [
    env('SANDBOX_BACKEND', 'kubernetes'),
    env('SANDBOX_HANDLE_KEY_FILE', `${KEY}/${HANDLE_KEY}`),
    env('SANDBOX_NAMESPACE', sandboxNamespace),
    env('SANDBOX_WARMPOOL', POOL),
    env('SANDBOX_PER_CALLER', template.text(sandbox.perCaller)),
    env('SANDBOX_IN_ALL', template.text(sandbox.inAll)),
    env('SANDBOX_IDLE_SECONDS', template.text(sandbox.idleSeconds)),
    env('SANDBOX_AGE_SECONDS', template.text(sandbox.maxAgeSeconds)),
  ];
}
