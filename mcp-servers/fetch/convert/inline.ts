/** Collects what stands on one line of a paragraph: white space collapses across the elements that it stands in. */
export class Inline {
  readonly #parts: string[] = [];
  /** what was written last ends with white space, or nothing was written */
  #blank = true;
  /** white space is due before the next word */
  #space = false;
  #startsBlank = false;
  #last = '';

  /** Text of the page: runs of white space count as one blank. */
  words(text: string): void {
    const collapsed = text.replace(/[\s\u00A0]+/g, ' ');
    const start = collapsed.startsWith(' ') ? 1 : 0;
    if (start === 1) this.space();
    const end = collapsed.length > start && collapsed.endsWith(' ') ? collapsed.length - 1 : collapsed.length;
    if (end > start) this.write(collapsed.slice(start, end));
    if (end < collapsed.length) this.#space = true;
  }

  /** Markdown as it is. */
  write(text: string): void {
    if (text === '') return;
    if (this.#space && !this.#blank) this.#parts.push(' ');
    this.#parts.push(text);
    this.#space = false;
    this.#blank = text.endsWith('\n');
    this.#last = text;
  }

  /** Markdown whose own outer white space belongs outside of its marks. */
  marked(inner: Inline, open: string, close: string): void {
    const text = inner.text();
    if (inner.startsBlank) this.space();
    if (text !== '') this.write(`${open}${text}${close}`);
    if (inner.endsBlank) this.space();
  }

  /** White space, at most one blank of it. */
  space(): void {
    if (this.#parts.length === 0) this.#startsBlank = true;
    this.#space = true;
  }

  lineBreak(): void {
    if (this.#parts.length === 0) return;
    this.#space = false;
    this.#parts.push(this.#last === BREAK ? '\n' : BREAK);
    this.#last = BREAK;
    this.#blank = true;
  }

  /** Whether a link ends right here: the next one would stick to it. */
  get endsWithLink(): boolean {
    return !this.#space && this.#last.endsWith(')') && this.#last.includes('](');
  }

  /** Whether white space stands before the first word: it belongs before the marks around it. */
  get startsBlank(): boolean {
    return this.#startsBlank;
  }

  get endsBlank(): boolean {
    return this.#space;
  }

  text(): string {
    return this.#parts.join('').trim();
  }
}

/** Two blanks at the end of a line break it. */
const BREAK = '  \n';
