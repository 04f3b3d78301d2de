/**
 * Reads request targets as Go's net/url and ServeMux do: by their raw bytes, since names carry an escaped slash, are matched segment by
 * segment while still escaped, and are decoded a second time by the handlers.
 */
export interface Target {
  /** as sent, without the query */
  readonly path: string;
  /** as sent, without the question mark; undefined when there is none */
  readonly query: string | undefined;
}

/** Takes `/path?query`, or the absolute form that proxies send. */
export function targetOf(url: string): Target {
  const local = url.startsWith('/') ? url : url.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?]*/, '');
  const mark = local.indexOf('?');
  return mark === -1 ? { path: local || '/', query: undefined } : { path: local.slice(0, mark) || '/', query: local.slice(mark + 1) };
}

export type Decoded =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: 'escape' | 'utf-8'; readonly fault: string };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** One round of percent-decoding. Text beyond ASCII may stand in it unescaped, as Node hands it over (one character per byte). */
export function percentDecode(escaped: string): Decoded {
  if (!/[%\x80-\xff]/.test(escaped)) return { ok: true, text: escaped };
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(escaped);
  if (bad !== null) return { ok: false, why: 'escape', fault: `invalid URL escape ${JSON.stringify(bad[0])}` };
  const bytes = escaped.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  try {
    return { ok: true, text: utf8.decode(Buffer.from(bytes, 'latin1')) };
  } catch {
    return { ok: false, why: 'utf-8', fault: 'not valid UTF-8' };
  }
}

/** The second round, on text that the first one made. */
export function decodeAgain(text: string): Decoded {
  return text.includes('%') ? percentDecode(Buffer.from(text, 'utf8').toString('latin1')) : { ok: true, text };
}

/**
 * The first value of a query parameter; '' when it is absent or malformed, and `true` for a bare name that no `=` follows.
 * Source: huma's queryparam.Get.
 */
export function queryValue(query: string | undefined, name: string): Decoded {
  const pairs = query?.split('&') ?? [];
  const lastWithValue = pairs.findLastIndex((pair) => pair.includes('='));
  for (const [index, pair] of pairs.entries()) {
    const equals = pair.indexOf('=');
    const key = formDecode(equals === -1 ? pair : pair.slice(0, equals));
    if (!key.ok || key.text !== name) continue;
    if (equals !== -1) return malformedIsAbsent(formDecode(pair.slice(equals + 1)));
    if (index > lastWithValue) return { ok: true, text: 'true' };
  }
  return { ok: true, text: '' };
}

function formDecode(escaped: string): Decoded {
  return percentDecode(escaped.replaceAll('+', ' '));
}

function malformedIsAbsent(decoded: Decoded): Decoded {
  return !decoded.ok && decoded.why === 'escape' ? { ok: true, text: '' } : decoded;
}

/** Where a path should rather be asked for: without `//`, `.` and `..`, escapes kept. The path itself when it is clean. */
export function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const cleaned = `/${kept.join('/')}`;
  return path.endsWith('/') && cleaned !== '/' ? `${cleaned}/` : cleaned;
}
