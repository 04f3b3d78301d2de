/** What an error says; anything can be thrown, so anything is made into words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
