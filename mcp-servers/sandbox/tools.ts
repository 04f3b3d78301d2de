/**
 * The tools as clients see them: those of agent-sandbox's MCP server (kubernetes-sigs/agent-sandbox, clients/integrations/mcp-server) with
 * its names, types and defaults, where placement may be left out and outputs may say more; the others are ours.
 */
import { z } from 'zod';

const claimName = z.string().describe('the sandbox_claim_name that create_sandbox gave');
const namespace = z.string().max(253).optional().describe('may be left out');
const timeout = z.int().gt(0).lte(600).default(60).describe('seconds');
const path = z.string().min(1).max(4096).describe('absolute in the sandbox, or relative to /workspace');
const stringMap = z.record(z.string(), z.string()).nullable().default(null).describe('accepted for compatibility');
const inSandbox = { sandbox_claim_name: claimName, namespace };

const count = z.int().min(0);
const commandOutput = {
  exit_code: z.int().describe('124 when timed_out; 128 + signal when a signal ended it'),
  stdout: z.string(),
  stderr: z.string(),
  timed_out: z.boolean().describe('the time was over and everything was killed; what had been printed is here'),
};

const reads = { readOnlyHint: true, openWorldHint: false };
const adds = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };
const changes = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

export const tools = {
  create_sandbox: {
    description: 'Makes a sandbox and waits until commands can run in it. Gives its sandbox_claim_name, which most other tools need.',
    inputSchema: z.object({
      warmpool: z.string().max(253).optional().describe('may be left out'),
      namespace,
      sandbox_ready_timeout: z.int().gt(0).default(180).describe('seconds it may take to start'),
      labels: stringMap,
      shutdown_after_seconds: z
        .int()
        .gt(0)
        .nullable()
        .default(300)
        .describe('seconds it may go unused before it is removed; null, or more than get_sandbox_config allows: as many as it allows'),
      pod_labels: stringMap,
      pod_annotations: stringMap,
      idempotency_key: z.string().min(1).max(256).optional().describe('a retry with the same key gives the same sandbox, not a second one'),
    }),
    outputSchema: z.object({
      sandbox_claim_name: z.string(),
      shutdown_time: z.string().describe('when it is removed unless it is used before; RFC 3339'),
    }),
    annotations: adds,
  },
  delete_sandbox: {
    description: 'Ends a sandbox and removes everything in it.',
    inputSchema: z.object(inSandbox),
    annotations: { ...changes, idempotentHint: true },
  },
  execute_command: {
    description:
      'Runs a shell command (bash) in a sandbox, starting in /workspace. Files stay for the next command; processes, also in the background, end with the command. When the timeout is over everything is killed and what had been printed is returned.',
    inputSchema: z.object({
      ...inSandbox,
      command: z.string().min(1).describe('a command line: pipes, redirections, && and variables work'),
      timeout,
      cwd: path.optional().describe('where it starts; absolute, or relative to /workspace'),
      env: z
        .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
        .optional()
        .describe('variables for this command'),
      stdin: z.string().optional().describe('what it reads as standard input; nothing when left out'),
    }),
    outputSchema: z.object(commandOutput),
    annotations: changes,
  },
  upload_file: {
    description: 'Writes a file in a sandbox. Missing directories are made, an existing file is replaced.',
    inputSchema: z.object({
      ...inSandbox,
      path,
      content: z.string().describe('the text; base64 when binary is true'),
      binary: z.boolean().default(false),
      timeout,
    }),
    outputSchema: z.object({ bytes_written: count }),
    annotations: { ...changes, idempotentHint: true },
  },
  download_file: {
    description: 'Reads a file of a sandbox.',
    inputSchema: z.object({
      ...inSandbox,
      path,
      binary: z.boolean().default(false).describe('true gives base64; needed for what is not UTF-8 text'),
      timeout,
    }),
    outputSchema: z.object({ content: z.string(), bytes_read: count }),
    annotations: reads,
  },
  list_files: {
    description: 'Lists one directory of a sandbox, by name.',
    inputSchema: z.object({ ...inSandbox, path, timeout, max_entries: z.int().gt(0).lte(10_000).default(1000) }),
    outputSchema: z.object({
      entries: z.array(
        z.object({
          name: z.string(),
          size: count.describe('bytes'),
          type: z.enum(['file', 'directory']),
          mod_time: z.number().describe('seconds since 1970'),
        }),
      ),
      total_entries: count,
      truncated: z.boolean(),
    }),
    annotations: reads,
  },
  file_exists: {
    description: 'Tells whether there is a file or directory at a path in a sandbox.',
    inputSchema: z.object({ ...inSandbox, path, timeout }),
    outputSchema: z.object({ exists: z.boolean() }),
    annotations: reads,
  },
  delete_file: {
    description: 'Removes a file, a link or a directory of a sandbox.',
    inputSchema: z.object({
      ...inSandbox,
      path,
      recursive: z.boolean().default(false).describe('true removes a directory with all that is in it'),
      timeout,
    }),
    annotations: changes,
  },
  move_file: {
    description: 'Moves or renames a file or directory of a sandbox. Missing directories are made.',
    inputSchema: z.object({
      ...inSandbox,
      path,
      to: path.describe('its new path, not the directory that it goes into'),
      overwrite: z.boolean().default(false).describe('true replaces a file that is there'),
      timeout,
    }),
    annotations: changes,
  },
  make_directory: {
    description: 'Makes a directory in a sandbox, and those above it.',
    inputSchema: z.object({ ...inSandbox, path, timeout }),
    annotations: { ...adds, idempotentHint: true },
  },
  search_files: {
    description: 'Finds lines in the text files of a directory of a sandbox and of those below it.',
    inputSchema: z.object({
      ...inSandbox,
      pattern: z.string().min(1).max(1000).describe('a POSIX extended regular expression'),
      path: path.default('.'),
      include: z.string().min(1).max(255).optional().describe('only files whose name fits, for example *.py'),
      max_matches: z.int().gt(0).lte(1000).default(100),
      timeout,
    }),
    outputSchema: z.object({
      matches: z.array(z.object({ path: z.string(), line: count, text: z.string() })),
      truncated: z.boolean().describe('there are more'),
    }),
    annotations: reads,
  },
  list_sandboxes: {
    description: "Lists the caller's own sandboxes that have not ended.",
    inputSchema: z.object({}),
    outputSchema: z.object({
      sandboxes: z.array(
        z.object({
          sandbox_claim_name: z.string(),
          ready: z.boolean(),
          created_time: z.string().describe('RFC 3339'),
          shutdown_time: z.string().describe('when it is removed unless it is used before; RFC 3339'),
        }),
      ),
    }),
    annotations: reads,
  },
  get_sandbox_status: {
    description: 'Tells whether a sandbox can be used and until when, or why not.',
    inputSchema: z.object(inSandbox),
    outputSchema: z.object({
      status: z.enum(['SandboxReady', 'SandboxNotReady', 'SandboxNotFound']),
      ready: z.boolean(),
      message: z.string(),
    }),
    annotations: reads,
  },
  get_sandbox_config: {
    description: 'Tells what isolates sandboxes here, which limits they have, what holds and what does not, and where they are placed.',
    inputSchema: z.object({}),
    outputSchema: z.object({
      backend: z.string(),
      isolation: z.string().describe('gvisor or bubblewrap; none while no code can run'),
      ready: z.boolean(),
      message: z.string().describe('when not ready: why, and what to do'),
      languages: z.array(z.object({ name: z.string(), version: z.string() })),
      limits: z.record(z.string(), z.number()),
      guarantees: z.array(z.object({ what: z.string(), holds: z.boolean(), how: z.string() })),
      placement: z.object({ namespace: z.string(), warmpool: z.string() }).describe('of sandboxes whose caller names none'),
      workspace: z.string().describe('where commands start and relative paths begin'),
    }),
    annotations: reads,
  },
  run_code: {
    description:
      'Runs a Python, JavaScript, TypeScript or bash program and returns what it prints: in a fresh sandbox that is removed afterwards, or in one of create_sandbox, starting in its /workspace. Pictures (PNG, JPEG, GIF, WebP) and tables (CSV, TSV) that it writes to files there are returned too, when they are small; other files are named.',
    inputSchema: z.object({
      language: z.enum(['python', 'javascript', 'typescript', 'bash']),
      code: z.string().min(1).describe('the whole program'),
      sandbox_claim_name: claimName.optional(),
      namespace,
      timeout,
    }),
    outputSchema: z.object({
      ...commandOutput,
      duration_ms: count,
      files: z
        .array(z.object({ path: z.string().describe('relative to /workspace'), size: count.describe('bytes') }))
        .describe('what the program made or changed in /workspace, at most 100 files'),
      isolation: z.string(),
    }),
    annotations: changes,
  },
} as const;

export type ToolName = keyof typeof tools;
export type Input<Tool extends ToolName> = z.output<(typeof tools)[Tool]['inputSchema']>;
export type Output<Tool extends Exclude<ToolName, 'delete_sandbox' | 'delete_file' | 'move_file' | 'make_directory'>> = z.output<
  (typeof tools)[Tool]['outputSchema']
>;
