/** One reason why a registry would not take a document. */
export interface Fault {
  /**
   * Which check of the registry refuses it, in the order in which they run:
   * - `input`: the shape, HTTP 422 with `errors`
   * - `semantic`: the rules in code, HTTP 422 without `errors`
   * - `size`: the publisher's `_meta` is over 4 KB, HTTP 400; on publish only, not on edit
   * - `storage`: what its database cannot hold, HTTP 400
   */
  readonly stage: 'input' | 'semantic' | 'size' | 'storage';
  /** JSON path such as `packages[0].transport.url`; '' is the document */
  readonly path: string;
  /** in the registry's words */
  readonly message: string;
  /** what was found there, unless it is large; for a missing or an unknown property the object that lacks or has it */
  readonly value?: unknown;
  /** the name of a semantic rule */
  readonly reference?: string;
  /** a warning refuses nothing; absent means error */
  readonly severity?: 'error' | 'warning';
}

/** `path: message`, or the message alone when it is about the whole document. */
export function faultLine({ path, message }: Pick<Fault, 'path' | 'message'>): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** A map's keys have no bound of their own; in a path they are cut here. */
const MAX_STEP_LENGTH = 200;

/** `packages[0].transport.url`, as the registry writes JSON paths, save that the empty key is seen: `""`. */
export function joinPath(path: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  const name = step === '' ? '""' : String(step).slice(0, MAX_STEP_LENGTH);
  return path === '' ? name : `${path}.${name}`;
}

export function pathOf(steps: readonly PropertyKey[]): string {
  return steps.reduce<string>((path, step) => joinPath(path, step), '');
}

/** Values have no bound either, and most messages repeat one. */
const MAX_MESSAGE_LENGTH = 2000;

export function shorten(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
}

/** Text of somebody else as it may be shown: cut, on one line, and with nothing that a terminal obeys or that is drawn elsewhere. */
export function shown(text: string, most = MAX_MESSAGE_LENGTH): string {
  const cut = text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
