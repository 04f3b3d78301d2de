import { fork } from 'node:child_process';

// Forks the server named in its arguments and lives until it is killed, as `toolyard up` does; says which process that is.
const child = fork(process.argv[2] ?? '', { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
child.stdout?.once('data', () => process.stdout.write(`${child.pid}\n`));
