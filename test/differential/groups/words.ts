/** Words of a template, so that long lists stay readable. */
export function words(text: TemplateStringsArray): string[] {
  return (text.raw[0] ?? '').split(/\s+/);
}
