import { blocks, silent, type Element } from './tree.ts';

const LANGUAGE = /(?:^|\s)(?:lang(?:uage)?-|highlight-source-|brush:\s*|sourceCode\s+)([\w+#.-]{1,30})/i;
/** Numbers of lines, prompts, buttons: beside the code, not in it. */
const ASIDE =
  /(^|[\s_-])(line-?(no|nos|number|numbers)|linenos?|gutter|rouge-gutter|copy(-btn|-button)?|hljs-ln-numbers|blob-num)(?=$|[\s_-])/i;

/** The code in a `<pre>`, line by line as it stands there. */
export function codeOf(element: Element): string {
  const parts: string[] = [];
  collect(element, parts);
  return parts.join('').replace(/\r\n?/g, '\n').replace(/^\n/, '').trimEnd();
}

function collect(element: Element, parts: string[]): void {
  for (const child of element.children) {
    if (typeof child === 'string') parts.push(child);
    else if (child.name === 'br') parts.push('\n');
    else if (isCode(child)) collectLine(child, parts);
  }
}

/** Code is also made of a block per line. */
function collectLine(element: Element, parts: string[]): void {
  collect(element, parts);
  if (blocks.has(element.name) && element.name !== 'td' && parts.at(-1)?.endsWith('\n') === false) parts.push('\n');
}

function isCode({ name, dropped, attributes }: Element): boolean {
  return !dropped && !silent.has(name) && !ASIDE.test(attributes['class'] ?? '');
}

/** Numbers of lines are also set as a column, with a `<pre>` of their own. */
export function isBesideCode(element: Element): boolean {
  for (let above: Element | undefined = element; above !== undefined && above.name !== 'tr'; above = above.parent) {
    if (ASIDE.test(above.attributes['class'] ?? '')) return true;
  }
  return false;
}

/** By the class of the `<pre>`, of its `<code>`, or of what is around it. */
export function languageOf(element: Element): string {
  const inner = element.children.find((child) => typeof child !== 'string');
  const own = [inner, element, element.parent, element.parent?.parent].map(namedLanguage);
  const found = own.find((language) => language !== undefined) ?? element.attributes['lang'] ?? '';
  return /^[\w+#.-]{1,30}$/.test(found) && !/^(none|plaintext)$/.test(found) ? found : '';
}

function namedLanguage(element: Element | undefined): string | undefined {
  const { class: names = '', 'data-lang': data, 'data-language': language = data } = element?.attributes ?? {};
  return LANGUAGE.exec(names)?.[1] ?? language;
}

/** A fence is longer than any in the code. */
export function fenced(code: string, language: string): string {
  const runs = (code.match(/^\s*`{3,}/gm) ?? []).map((run) => run.trim().length);
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run + 1), 3));
  return `${fence}${language}\n${code}\n${fence}`;
}
