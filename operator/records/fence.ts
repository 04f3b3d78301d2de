import { RegistryError } from '../../lib/registry-api/errors.ts';
import type { RegistryPort } from './registry-view.ts';

/** A registry that is written to only while this process is the one that works: it may have been stopped for longer than anybody waits. */
export function fenced(registry: RegistryPort, mayWrite: () => boolean): RegistryPort {
  const check = (): void => {
    if (!mayWrite()) throw new RegistryError('unavailable', 'nothing is written: this process may no longer be the one that works');
  };
  return {
    url: registry.url,
    list: (...call) => registry.list(...call),
    versions: (...call) => registry.versions(...call),
    publish: async (...call) => {
      check();
      return registry.publish(...call);
    },
    edit: async (...call) => {
      check();
      return registry.edit(...call);
    },
    setStatus: async (...call) => {
      check();
      return registry.setStatus(...call);
    },
  };
}
