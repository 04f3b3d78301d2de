const MAX_COOKIES = 50;
const MAX_COOKIE_LENGTH = 4_096;

/**
 * The cookies of one call, so that a site which sets one and redirects to itself lets us in. Each is sent to the origin that set it and
 * to no other: stricter than a browser, which is enough for a handful of hops.
 */
export class Cookies {
  readonly #jars = new Map<string, Map<string, string>>();
  #count = 0;

  store({ origin }: URL, headers: string | string[] | undefined): void {
    for (const header of [headers ?? []].flat()) {
      const [pair = ''] = header.split(';', 1);
      const equals = pair.indexOf('=');
      if (equals <= 0 || pair.length > MAX_COOKIE_LENGTH || this.#count >= MAX_COOKIES) continue;
      const jar = this.#jars.get(origin) ?? new Map<string, string>();
      jar.set(pair.slice(0, equals).trim(), pair.slice(equals + 1).trim());
      this.#jars.set(origin, jar);
      this.#count += 1;
    }
  }

  header({ origin }: URL): string | undefined {
    const jar = this.#jars.get(origin);
    return jar === undefined ? undefined : [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }
}
