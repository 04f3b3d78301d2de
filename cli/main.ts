import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { version } from '../lib/version.ts';
import { CliError, exit, exitHelp, type ExitCode } from './exit.ts';
import { stateDir } from './stack/state-dir.ts';
import { openTerminal, safe, type Terminal } from './terminal.ts';

/** The checkout: its catalog and its state are the default wherever the command is called from. */
const home = dirname(import.meta.dirname);

interface Common {
  readonly json?: true;
}

interface UpOptions extends Common {
  readonly catalog: string;
  readonly state: string;
  readonly registryPort: number;
  readonly fetchPort: number;
  readonly sandboxPort: number;
}

interface CallOptions extends Common {
  readonly args?: string;
  readonly state: string;
  readonly registry?: string;
}

const program = new Command('toolyard')
  .description('Runs and inspects the tool layer for agents: declared MCP servers, a registry kept equal to them, fetch and sandbox.')
  .version(version)
  .exitOverride()
  .configureHelp({ minWidthToWrap: 20 })
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'toolyard:')) })
  .showHelpAfterError('  add --help for what it accepts')
  .addHelpText('after', `\n${exitHelp}\n\nNO_COLOR switches colours off. Documentation: README.md`);

const json = () => new Option('--json', 'print JSON instead of text, one document a line');
const catalog = () =>
  new Option('--catalog <dir>', 'directory of declarations: <any>/server.json').default(join(home, 'catalog'), 'catalog');
const state = () => new Option('--state <dir>', 'state directory').default(join(home, '.toolyard'), '.toolyard');
const registry = () => new Option('--registry <url>', 'the registry to ask (default: that of the running toolyard up)').argParser(httpUrl);

program
  .command('up')
  .summary('run registry, fetch, sandbox and operator until Ctrl-C')
  .description('Runs registry, fetch, sandbox and operator in the foreground until Ctrl-C, and shows what happens to the declared servers.')
  .addOption(catalog())
  .addOption(state())
  .addOption(new Option('--registry-port <port>', '0 takes any free one').default(8080).argParser(port))
  .addOption(new Option('--fetch-port <port>', '0 takes any free one').default(8001).argParser(port))
  .addOption(new Option('--sandbox-port <port>', '0 takes any free one').default(8002).argParser(port))
  .addOption(json())
  .addHelpText(
    'after',
    `
Settings of the parts are passed on from the environment: for example
WITHDRAW_AFTER_SECONDS, PROBE_INTERVAL_SECONDS (here 5 unless set),
FETCH_ALLOW_ORIGINS. docs/configuration.md lists them all. Ports, addresses and
files are set by toolyard up itself.

Exits with 0 after Ctrl-C or SIGTERM, 1 when something did not start, 2 when a
setting is wrong, 3 without a catalog, 5 when a port or the state directory is
in use.`,
  )
  .action(
    run(async (terminal, options: UpOptions) => {
      useCompileCache(resolve(options.state));
      const { up } = await import('./up/up.ts');
      const ports = { registry: options.registryPort, fetch: options.fetchPort, sandbox: options.sandboxPort };
      return await up({ home, catalog: resolve(options.catalog), state: resolve(options.state), ports }, terminal);
    }),
  );

program
  .command('demo')
  .summary('use both servers as a client would, from finding them to their results')
  .description(
    'Starts everything on free ports, finds both servers through the registry, fetches a page, runs a program in a sandbox, stops everything.',
  )
  .addOption(json())
  .addHelpText('after', '\nExits with 0 when every step did what it should, else with 1.')
  .action(
    run(async (terminal) => {
      const { demo } = await import('./demo/demo.ts');
      return await demo({ home }, terminal);
    }),
  );

program
  .command('validate')
  .summary('check declarations without a registry')
  .description('Checks every declaration in a directory against the rules of the registry, offline, and lists every fault of every file.')
  .addArgument(new Argument('[dir]', 'directory of declarations, or one server.json').default(join(home, 'catalog'), 'catalog'))
  .option('--local', 'accept addresses on this machine as remotes, as toolyard up does')
  .addOption(json())
  .addHelpText('after', '\nExits with 0 without faults, 1 with faults, 3 when the directory is not there.')
  .action(
    run(async (terminal, options: Common & { local?: true }, dir: string) => {
      const { validate } = await import('./validate.ts');
      return validate({ dir: resolve(dir), local: options.local === true }, terminal);
    }),
  );

interface ClusterOptions {
  readonly cluster?: true;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** Options that ask a cluster; each of them alone does, too. */
function withCluster(command: Command): Command {
  return command
    .option('--cluster', "ask the cluster of the kubeconfig's current context instead of toolyard up")
    .option('--kubeconfig <file>', 'ask the cluster of this kubeconfig (default: KUBECONFIG, else ~/.kube/config)')
    .option('--context <name>', 'ask the cluster of this context')
    .option('--namespace <name>', 'look at the ConfigMaps of one namespace only');
}

function clusterOf({ cluster, kubeconfig, context, namespace }: ClusterOptions) {
  const isAsked = cluster === true || [kubeconfig, context, namespace].some((given) => given !== undefined);
  return isAsked ? { kubeconfig, context, namespace } : undefined;
}

withCluster(program.command('servers'))
  .summary('list the declared servers and what became of them')
  .description('Lists the declared servers with their state, and what else the registry has.')
  .addOption(state())
  .addOption(registry())
  .addOption(json())
  .addHelpText('after', '\nExits with 0, 3 when there is no status yet, 4 when the registry or\nthe cluster does not answer.')
  .action(
    run(async (terminal, options: Common & ClusterOptions & { state: string; registry?: string }) => {
      const { servers } = await import('./servers.ts');
      return await servers({ state: resolve(options.state), registry: options.registry, cluster: clusterOf(options) }, terminal);
    }),
  );

withCluster(program.command('explain'))
  .summary('say why a server is, or is not, published')
  .description('Says in plain words why a server is, or is not, published, and what to do next.')
  .argument('<name>', 'name of a record, its part after the slash, or where it is declared')
  .addOption(state())
  .addOption(json())
  .addHelpText('after', '\nExits with 0 when it is published, 1 when it is not, 3 when nothing of that name\nis declared.')
  .action(
    run(async (terminal, options: Common & ClusterOptions & { state: string }, name: string) => {
      const { explain } = await import('./explain.ts');
      return explain({ name, state: resolve(options.state), cluster: clusterOf(options) }, terminal);
    }),
  );

program
  .command('call')
  .summary('call a tool of a server found through the registry')
  .description("Finds a server through the registry and calls one of its tools; without a tool, lists the server's tools.")
  .argument('<name>', 'name of a record, or its part after the slash')
  .argument('[tool]', 'name of a tool')
  .argument('[key=value...]', "the tool's arguments, typed by its schema; key=@file reads a file, key=@- standard input")
  .option('--args <json>', 'all arguments as one JSON object; key=value goes on top')
  .addOption(state())
  .addOption(registry())
  .addOption(json())
  .addHelpText(
    'after',
    '\nExits with 0, 1 when the tool reports an error, 2 for wrong arguments, 3 without\nsuch a server or tool, 4 when nobody answers.',
  )
  .action(
    run(async (terminal, options: CallOptions, ...[name, tool, words]: [string, string | undefined, string[]]) => {
      const { call } = await import('./call/call.ts');
      const { args, state, registry } = options;
      return await call({ name, tool, words, args, state: resolve(state), registry }, terminal);
    }),
  );

/** Where an earlier run left compiled code. A state directory that is not there yet is not made for this: that may be refused. */
function useCompileCache(state: string): void {
  const { compileCache } = stateDir(state);
  if (existsSync(compileCache)) enableCompileCache(compileCache);
}

type Arguments = [options: Common, ...unknown[]];

/** How commander calls an action: the arguments, then the options, then the command. */
type Given<A extends Arguments> = A extends [infer Options, ...infer Rest] ? [...Rest, Options, Command] : never;

/** A command's action: opens the terminal as `--json` asks, and turns errors into a message and an exit code. */
function run<A extends Arguments>(action: (terminal: Terminal, ...args: A) => Promise<ExitCode>) {
  return async (...given: Given<A>): Promise<void> => {
    const args = [given.at(-2), ...given.slice(0, -2)] as unknown as A;
    const terminal = openTerminal({ json: args[0].json === true });
    try {
      process.exitCode = await action(terminal, ...args);
    } catch (error) {
      process.exitCode = report(error instanceof CliError ? error : unexpected(error), terminal);
    }
  };
}

function report({ message, details, next, code }: CliError, terminal: Terminal): ExitCode {
  terminal.data({ error: { message, ...(details.length > 0 && { details }), ...(next !== undefined && { next }) } });
  terminal.note(`${terminal.paintNote.bad('toolyard:')} ${safe(message)}`);
  for (const detail of details) terminal.note(`    ${safe(detail)}`);
  if (next !== undefined) terminal.note(`  ${safe(next)}`);
  return code;
}

/** A fault of toolyard itself: its stack is what a bug report needs. */
function unexpected(error: unknown): CliError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return new CliError(exit.no, `unexpected: ${message}`, {
    details: (stack ?? '').split('\n').map((line) => line.trim()),
    next: 'please report this with all of these lines',
    cause: error,
  });
}

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('A port is a whole number from 0 to 65535; 0 takes any free one.');
}

function httpUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return text;
  throw new InvalidArgumentError('It is an http or https address, for example http://127.0.0.1:8080.');
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // the reader of a pipe has gone: for `up` that is a reason to stop like any other
  if (error.code === 'EPIPE') process.emit('SIGTERM');
});

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? exit.done : exit.usage;
}
