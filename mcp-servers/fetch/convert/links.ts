/** Longest address of a link that is shown, characters: a page full of longer ones would be nothing but addresses. */
const MAX_HREF = 4096;
/** Each link is resolved against the whole URL of the page; when so many characters were gone through, links lose their addresses. */
const MAX_RESOLVED = 64 * 1024 * 1024;

/** Makes the links of one page absolute. */
export class Links {
  readonly #base: string;
  #resolved = 0;

  /** @param base absolute */
  constructor(base: string) {
    this.#base = base;
  }

  /** Where a link leads, if it leads to something that can be fetched. */
  resolve(target: string | undefined): string | undefined {
    if (target === undefined || target.length > MAX_HREF || this.#resolved > MAX_RESOLVED) return undefined;
    this.#resolved += this.#base.length + target.length;
    return absolute(target, this.#base);
  }
}

/** Where a link leads, if it leads to something that can be fetched; brackets are escaped, since they would end it in Markdown. */
export function absolute(target: string | null | undefined, base: string): string | undefined {
  if (target === undefined || target === null || target.trim() === '') return undefined;
  const url = URL.parse(target, base);
  if (url === null || !/^(https?|mailto|tel|ftp):$/.test(url.protocol)) return undefined;
  return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
}
