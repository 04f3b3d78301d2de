/** One page of a text, and where it stands. */
export interface Part {
  readonly text: string;
  /** code points of the whole text */
  readonly total: number;
  /** where the next part begins */
  readonly next?: number;
}

/** The same page without notes, for those who read numbers. */
export function partOf(text: string, startIndex: number, maxLength: number): Part {
  const start = offsetOf(text, startIndex, 0);
  const end = offsetOf(text, maxLength, start);
  const total = codePointsOf(text);
  return { text: text.slice(start, end), total, ...(end < text.length && { next: startIndex + maxLength }) };
}

/**
 * One page of a text, as the incumbent pages: positions count Unicode code points, not UTF-16 units, and what is left is announced with
 * the position to go on from. Both notes are successes.
 */
export function pageOf(text: string, startIndex: number, maxLength: number): string {
  const start = offsetOf(text, startIndex, 0);
  if (start === text.length) return '<error>No more content available.</error>';
  const end = offsetOf(text, maxLength, start);
  const page = text.slice(start, end);
  if (end === text.length) return page;
  const next = startIndex + maxLength;
  return `${page}\n\n<error>Content truncated. Call the fetch tool with a start_index of ${next} to get more content.</error>`;
}

function codePointsOf(text: string): number {
  let count = 0;
  for (let offset = 0; offset < text.length; offset += isPair(text, offset) ? 2 : 1) count += 1;
  return count;
}

/** Where the text stands after so many code points from an offset, or at its end. */
function offsetOf(text: string, codePoints: number, from: number): number {
  let offset = from;
  for (let passed = 0; passed < codePoints && offset < text.length; passed += 1) {
    offset += isPair(text, offset) ? 2 : 1;
  }
  return offset;
}

function isPair(text: string, offset: number): boolean {
  return (text.charCodeAt(offset) & 0xfc00) === 0xd800 && (text.charCodeAt(offset + 1) & 0xfc00) === 0xdc00;
}
