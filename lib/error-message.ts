/** What an error says; those of connections may say nothing but their code, and anything can be thrown. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
