/** What does not print, or changes how its neighbours do: control and format characters, lone surrogates, odd spaces. */
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;

/**
 * Characters that make a text look, or be read, otherwise than it is: control characters (terminals obey them), directions that override
 * the order of letters, tags and other invisible ones, further selectors of a variant. Joiners and marks of direction stay: scripts and
 * emoji need them.
 */
const MISLEADING =
  /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u180E\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]|(?<=[\uFE00-\uFE0F\u{E0100}-\u{E01EF}])[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]+/gu;

/** A text of many lines as a model should see it: only what a reader would see. A carriage return alone ends a line; before one it stays. */
export function readable(text: string): string {
  return text.replace(/\r(?!\n)/g, '\n').replace(MISLEADING, '');
}

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
