/** What does not print, or changes how its neighbours do: control and format characters, lone surrogates, odd spaces. */
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;

/**
 * What a stranger wrote (a header, a certificate, a line of robots.txt), fit to stand in a sentence of ours: on one line, in the order
 * in which it was written, no longer than that many characters. Escapes are those of Python's `repr`, in which the incumbent shows it.
 */
export function printable(text: string, most: number): string {
  const whole = text.length <= most;
  const shown = (whole ? text : text.slice(0, most)).replace(UNPRINTABLE, escaped);
  return whole ? shown : `${shown}… (${text.length} characters)`;
}

/** As Python writes strings, quotes included. */
export function quoted(text: string, most: number): string {
  const shown = printable(text.replaceAll('\\', '\\\\'), most);
  return shown.includes("'") && !shown.includes('"') ? `"${shown}"` : `'${shown.replaceAll("'", "\\'")}'`;
}

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return short[character] ?? `\\${letter}${code.toString(16).padStart(digits, '0')}`;
}
