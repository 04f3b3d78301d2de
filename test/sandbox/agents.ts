/** A program that stands in for an agent which a guest has taken over: `node agents.ts BEHAVIOUR`. */
import { createInterface } from 'node:readline';

const behaviours: Readonly<Record<string, (request: { id: number }) => string | undefined>> = {
  garbage: () => 'not JSON at all',
  'wrong shape': ({ id }) => JSON.stringify({ id, end: { exitCode: 'zero' } }),
  'no bounds': ({ id }) => JSON.stringify({ id, end: { exitCode: 0, dropped: { stdout: -1, stderr: 0 } } }),
  'foreign answers': ({ id }) =>
    [id + 1, id + 1000].map((other) => JSON.stringify({ id: other, end: { exitCode: 0, dropped: { stdout: 0, stderr: 0 } } })).join('\n'),
  'prototype pollution': ({ id }) => `{"id":${id},"end":{"__proto__":{"exitCode":0},"constructor":1}}`,
  'endless line': () => 'x'.repeat(64 * 1024 * 1024),
  'more output than asked for': ({ id }) => {
    const data = Buffer.alloc(48 * 1024).toString('base64');
    const output = Array.from({ length: 100 }, () => JSON.stringify({ id, stream: 'stdout', data }));
    return [...output, JSON.stringify({ id, end: { exitCode: 0, dropped: { stdout: 0, stderr: 0 } } })].join('\n');
  },
  silence: () => undefined,
};

process.stdout.write('{"hello":true}\n');
createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as { id: number; do: string };
  const answer = request.do === 'stop' ? undefined : behaviours[process.argv[2] ?? '']?.(request);
  if (answer !== undefined) process.stdout.write(`${answer}\n`);
});
