/** One line per scenario: its figures go into docs/faults.md. */
export function tell(scenario: string, figures: Readonly<Record<string, string | number>>): void {
  const listed = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`faults: ${scenario}: ${listed.join(', ')}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function range(times: readonly number[]): string {
  const [least, most] = [seconds(Math.min(...times)), seconds(Math.max(...times))];
  return least === most ? least : `${least} to ${most}`;
}
