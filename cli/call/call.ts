import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { CliError, exit, type ExitCode } from '../exit.ts';
import { addressOf, connect, findRecord, reasonOf, registryClient, textOf, type Connection } from '../mcp.ts';
import { stateDir } from '../stack/state-dir.ts';
import { registryAddress } from '../status.ts';
import { safe, type Terminal } from '../terminal.ts';
import { parseWord, requireAll, typedArguments, typesOf } from './arguments.ts';

export interface CallRequest {
  readonly state: string;
  /** another registry than that of the `up` over the state directory */
  readonly registry: string | undefined;
  readonly name: string;
  /** without one, the server's tools are listed */
  readonly tool: string | undefined;
  /** `key=value` */
  readonly words: readonly string[];
  /** all arguments as one JSON object, instead of or under the words */
  readonly args: string | undefined;
}

/** After this long somebody who watches wants to know that it still runs. */
const SAY_WAITING_AFTER_MS = 1_000;

/** Finds a server through the registry and calls one of its tools; the exit code tells whether the tool reported an error. */
export async function call(request: CallRequest, terminal: Terminal): Promise<ExitCode> {
  const record = await findRecord(registryClient(registryAddress(stateDir(request.state), request.registry)), request.name);
  const server = await connect(addressOf(record));
  try {
    const { tools } = await server.client.listTools();
    if (request.tool === undefined) return listTools(tools, terminal);
    const tool = tools.find(({ name }) => name === request.tool);
    if (tool === undefined) throw noSuchTool(record.server.name, request.tool, tools);
    return show(await runTool(server, tool, { args: argumentsOf(tool, request), terminal }), terminal);
  } finally {
    await server.close();
  }
}

function argumentsOf(tool: Tool, request: CallRequest): Record<string, unknown> {
  const words = request.words.map(parseWord).map((word) => [word.key, 'file' in word ? contents(word.key, word.file) : word.text] as const);
  if (request.args === undefined) return typedArguments(tool.name, tool.inputSchema, words);
  const base = jsonObject(request.args);
  const typed = typedArguments(tool.name, { properties: tool.inputSchema.properties }, words);
  const merged = { ...base, ...typed };
  requireAll(tool.name, tool.inputSchema, merged);
  return merged;
}

function contents(key: string, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new CliError(exit.notFound, `${key}=@${file}: ${reasonOf(cause)}`, {
      next: 'name a file that can be read, or - for standard input',
      cause,
    });
  }
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new CliError(exit.usage, `--args is not JSON: ${reasonOf(cause)}`, {
      next: `write it like --args '{"url": "https://example.com/"}'`,
      cause,
    });
  }
  throw new CliError(exit.usage, `--args got ${text}, accepts a JSON object`, {
    next: `write it like --args '{"url": "https://example.com/"}'`,
  });
}

function noSuchTool(server: string, tool: string, tools: readonly Tool[]): CliError {
  const names = tools.map(({ name }) => safe(name));
  return new CliError(exit.notFound, `${server} has no tool ${JSON.stringify(tool)}`, {
    next: names.length === 0 ? 'it lists none' : `it has ${names.join(', ')}`,
  });
}

async function runTool(
  server: Connection,
  tool: Tool,
  how: { args: Record<string, unknown>; terminal: Terminal },
): Promise<CallToolResult> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new CliError(exit.no, `${tool.name} was cancelled`)));
  const answered = new AbortController();
  void wait(SAY_WAITING_AFTER_MS, undefined, { signal: answered.signal }).then(
    () => how.terminal.note(`${safe(tool.name)} is running; Ctrl-C cancels it`),
    () => undefined,
  );
  try {
    return await server.call(tool.name, how.args, stop.signal);
  } catch (cause) {
    stop.signal.throwIfAborted();
    throw new CliError(exit.no, `${tool.name} failed: ${reasonOf(cause)}`, {
      next: `toolyard call NAME without a tool lists the tools and their arguments`,
      cause,
    });
  } finally {
    answered.abort();
  }
}

function show(result: CallToolResult, terminal: Terminal): ExitCode {
  terminal.data(result);
  const shown = terminal.printable(readable(result));
  if (result.isError === true) terminal.note(terminal.paintNote.bad(shown));
  else terminal.line(shown);
  return result.isError === true ? exit.no : exit.done;
}

/** The text of a result; where that only repeats the structured result, or there is none, that one, indented. */
function readable(result: CallToolResult): string {
  const text = textOf(result);
  const structured = result.structuredContent;
  return structured !== undefined && (text === '' || text === JSON.stringify(structured)) ? JSON.stringify(structured, undefined, 2) : text;
}

function listTools(tools: readonly Tool[], terminal: Terminal): ExitCode {
  terminal.data(tools);
  for (const tool of tools) {
    terminal.line(terminal.paint.strong(safe(tool.name)));
    const about = safe(tool.description ?? '').trim();
    if (about !== '') terminal.prose(`  ${about.length > 160 ? `${about.slice(0, 159)}…` : about}`);
    for (const line of argumentLines(tool)) terminal.prose(`    ${line}`);
  }
  if (tools.length === 0) terminal.line('it lists no tools');
  return exit.done;
}

function argumentLines(tool: Tool): string[] {
  const required = new Set(tool.inputSchema.required ?? []);
  return Object.entries(tool.inputSchema.properties ?? {}).map(([key, schema]) => {
    const { default: initial } = schema as { default?: unknown };
    const kind = typesOf(schema).join(' or ') || 'any';
    const need = required.has(key) ? 'required' : initial === undefined ? 'optional' : `default ${JSON.stringify(initial)}`;
    return safe(`${key}=  ${kind}, ${need}`);
  });
}
