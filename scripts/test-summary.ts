import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** Sums Vitest's JSON reports, names what failed and what did not run, and ends with the line that CI reads. Exit code 1 unless all passed. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly success: boolean;
  readonly testResults: readonly TestFile[];
}

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

const MESSAGE_LINES = 6;

function short(message: string): string {
  return stripVTControlCharacters(message).split('\n').slice(0, MESSAGE_LINES).join('\n    ');
}

/** What is wrong in one file, a text for each fault. A file that cannot even load has no failed test of its own. */
function faultsOf({ name, status, message, assertionResults }: TestFile): { failed: string[]; unrun: string[] } {
  const failed = assertionResults.filter((test) => test.status === 'failed');
  const unrun = assertionResults.filter((test) => test.status !== 'failed' && test.status !== 'passed');
  const texts = failed.map(
    ({ fullName, failureMessages = [] }) => `failed: ${name}: ${fullName}\n    ${short(failureMessages.join('\n'))}`,
  );
  if (status === 'failed' && failed.length === 0) texts.push(`failed: ${name}\n    ${short(message)}`);
  return { failed: texts, unrun: unrun.map(({ fullName }) => `did not run, and here every test has to: ${name}: ${fullName}`) };
}

let passed = 0;
let failed = 0;
for (const path of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  const faults = report.testResults.map(faultsOf);
  const texts = faults.flatMap((fault) => fault.failed.concat(fault.unrun));
  if (!report.success && texts.length === 0) texts.push(`failed: an error outside of the tests of ${path}; the run's output shows it`);
  for (const text of texts) process.stdout.write(`${text}\n`);
  passed += report.numPassedTests;
  failed += texts.length;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
