import { readFileSync } from 'node:fs';

/** Sums Vitest's JSON reports, names what did not run, and ends with the line that CI reads. Exit code 1 unless all passed and none was skipped. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly success: boolean;
  readonly testResults: readonly { readonly name: string; readonly status: string; readonly message: string }[];
}

const files = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const file of files) {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const unrun = report.numPendingTests + report.numTodoTests;
  // a file that cannot even load has no failed test of its own
  const broken = report.testResults.filter((result) => result.status === 'failed').length;
  const faults = Math.max(report.numFailedTests, broken);
  for (const result of report.testResults)
    if (result.status === 'failed') process.stdout.write(`failed: ${result.name} ${result.message}\n`);
  if (unrun > 0) process.stdout.write(`${unrun} tests of ${file} did not run; here every test has to\n`);
  passed += report.numPassedTests;
  failed += report.success ? unrun : Math.max(faults, 1) + unrun;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
