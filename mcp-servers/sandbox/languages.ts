import type { BackendDescription } from './backend.ts';

type Languages = BackendDescription['languages'];

/** Adds TypeScript where Node runs it by stripping its types, unasked: from 22.18 and 23.6 on. */
export function withTypeScript(languages: Languages): Languages {
  return languages.flatMap((language) =>
    language.name === 'javascript' && stripsTypes(language.version) ? [language, { ...language, name: 'typescript' }] : [language],
  );
}

function stripsTypes(node: string): boolean {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)\./.exec(node) ?? [];
  const [is, since] = [Number(major), Number(minor)];
  return is > 23 || (is === 23 && since >= 6) || (is === 22 && since >= 18);
}
