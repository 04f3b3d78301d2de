import { RegistryError } from '../../lib/registry-api/errors.ts';
import type { Action, Step } from './plan.ts';
import type { RegistryPort } from './registry-view.ts';

/** An action that changes the registry. */
export type Write = Exclude<Action, { do: 'nothing' | 'wait' | 'refuse' }>;

export function isWrite(action: Action): action is Write {
  return action.do !== 'nothing' && action.do !== 'wait' && action.do !== 'refuse';
}

const MAX_MESSAGE = 500;

/** Does one action. Whether it worked shows in the registry, which is read afterwards. @throws RegistryError */
export async function perform(
  { name, version }: Pick<Step, 'name' | 'version'>,
  action: Write,
  client: RegistryPort,
  signal: AbortSignal,
): Promise<void> {
  switch (action.do) {
    case 'publish':
      await client.publish(action.document, { signal });
      return;
    case 'edit':
      await client.edit(action.document, { signal });
      return;
    case 'restore':
    case 'activate':
      return setStatus(client.setStatus({ name, version, status: 'active' }, { signal }));
    case 'deprecate':
      return setStatus(client.setStatus({ name, version, status: 'deprecated', message: short(action.why) }, { signal }));
    default:
      return setStatus(client.setStatus({ name, version, status: 'deleted', message: 'toolyard: no longer declared' }, { signal }));
  }
}

/** A status that is already there is as good as one that was set. */
async function setStatus(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof RegistryError) || error.code !== 'no-change') throw error;
  }
}

function short(text: string): string {
  const points = Array.from(text);
  return points.length <= MAX_MESSAGE ? text : `${points.slice(0, MAX_MESSAGE - 1).join('')}…`;
}
