import type { BackendDescription } from '../backend.ts';
import { withTypeScript } from '../languages.ts';

/** Run in a fresh sandbox before any guest is let in: says in `name=value` lines what the inside looks like. */
export const selfCheckScript = `
echo user=$(id -u)
echo capabilities=$(sed -n 's/^CapEff:[[:space:]]*0*//p' /proc/self/status)
echo privileges=$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status)
echo interfaces=$(sed -n 's/^[[:space:]]*\\([^:]*\\):.*/\\1/p' /proc/net/dev)
for place in / /usr /etc /opt/toolyard /dev; do touch $place/.probe 2>/dev/null && echo writable=$place; done
touch /workspace/.probe /tmp/.probe && rm /workspace/.probe /tmp/.probe && echo workspace=usable
echo python=$(python3 --version 2>/dev/null | cut -d' ' -f2)
echo javascript=$(node --version)
echo bash=$(bash -c 'echo $BASH_VERSION' 2>/dev/null)
`;

export type SelfCheck =
  | { readonly holds: true; readonly languages: BackendDescription['languages'] }
  | { readonly holds: false; readonly why: string };

/** What each line must say; the words are for whoever runs the server. A value is empty when its line is missing. */
const expectations: readonly { readonly name: string; readonly holds: (value: string) => boolean; readonly else: string }[] = [
  { name: 'user', holds: (value) => value !== '' && value !== '0', else: 'commands run as user' },
  { name: 'capabilities', holds: (value) => value === '', else: 'commands have capabilities' },
  { name: 'privileges', holds: (value) => value === '1', else: 'commands may gain privileges: NoNewPrivs is' },
  { name: 'interfaces', holds: (value) => value === 'lo', else: 'commands see the network interfaces' },
  { name: 'workspace', holds: (value) => value === 'usable', else: 'files cannot be written in /workspace and /tmp' },
  { name: 'writable', holds: (value) => value === '', else: 'commands can write to' },
  { name: 'javascript', holds: (value) => value.startsWith('v'), else: 'Node does not run inside' },
];

const languageNames = ['python', 'javascript', 'bash'];

/** Judges what the script said: an isolation that does not isolate is none. */
export function judgeSelfCheck(output: string): SelfCheck {
  const lines = output.split('\n').map((line) => line.split('='));
  const value = (name: string): string => lines.flatMap(([key, said]) => (key === name ? [said ?? ''] : [])).join(' ');
  const faults = expectations.filter(({ name, holds }) => !holds(value(name)));
  if (faults.length > 0) return { holds: false, why: faults.map((fault) => `${fault.else} ${value(fault.name)}`.trim()).join('; ') };
  const languages = languageNames.map((name) => ({ name, version: value(name).replace(/^v/, '') }));
  return { holds: true, languages: withTypeScript(languages.filter(({ version }) => version !== '')) };
}
