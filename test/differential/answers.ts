/** One answer as it is compared: parsed when it is JSON, without the headers of its connection. */
export interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What both registries answered to one request. */
export interface Pair {
  readonly official: Shown;
  readonly embedded: Shown;
}

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The same change of both bodies. */
export function inBodies(change: (body: unknown, status: number) => unknown): (pair: Pair) => Pair {
  const changed = (shown: Shown): Shown => ({ ...shown, body: change(shown.body, shown.status) });
  return ({ official, embedded }) => ({ official: changed(official), embedded: changed(embedded) });
}

/** A fault as it stands in the `errors` of a refusal. */
export interface WireFault {
  readonly message: string;
  readonly location?: string;
  readonly value?: unknown;
}

/** The same change of every list of faults. */
export function inErrors(change: (errors: readonly WireFault[], status: number) => readonly unknown[]): (pair: Pair) => Pair {
  return inBodies((body, status) => {
    const errors = fieldsOf(body)?.['errors'];
    return Array.isArray(errors) ? { ...fieldsOf(body), errors: change(errors as WireFault[], status) } : body;
  });
}

/** The same change of every finding of `/validate`. */
export function inIssues(change: (issues: readonly Fields[]) => readonly unknown[]): (pair: Pair) => Pair {
  return inBodies((body) => {
    const issues = fieldsOf(body)?.['issues'];
    return Array.isArray(issues) ? { ...fieldsOf(body), issues: change(issues as Fields[]) } : body;
  });
}

/** The same change of every record, alone or listed. */
export function inRecords(change: (record: Fields) => unknown): (pair: Pair) => Pair {
  return inBodies((body) => {
    const fields = fieldsOf(body);
    if (fields === undefined) return body;
    if (Array.isArray(fields['servers'])) return { ...fields, servers: (fields['servers'] as Fields[]).map(change) };
    return '_meta' in fields ? change(fields) : fields;
  });
}

/** A registry's time cut to microseconds, without its zone. Texts of equal length, whose order is that of the times. */
export function microsecondsOf(time: string): string {
  const [seconds = '', fraction = ''] = time.replace(/Z$/, '').split('.');
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, '0')}`;
}
