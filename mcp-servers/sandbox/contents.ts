import { headBytes, SandboxError, type CommandResult } from './backend.ts';

/**
 * A file's bytes as they were given.
 * @throws SandboxError `too-large`; `invalid` for base64 that is not exactly what its bytes encode to (RFC 4648 section 4, padded)
 */
export function decodeContent(content: string, binary: boolean, maxBytes: number): Uint8Array {
  // four characters carry three bytes: refused before anything is made of it
  const atLeast = binary ? Math.floor(content.length / 4) * 3 - 2 : content.length;
  if (atLeast > maxBytes) throw tooLarge(`at least ${atLeast}`, maxBytes);
  const bytes = Buffer.from(content, binary ? 'base64' : 'utf8');
  if (binary && bytes.toString('base64') !== content) {
    throw new SandboxError(
      'invalid',
      'content is not base64: it has other characters, white space, or wrong padding. Encode the bytes anew (RFC 4648, padded)',
    );
  }
  if (bytes.length > maxBytes) throw tooLarge(String(bytes.length), maxBytes);
  return bytes;
}

function tooLarge(bytes: string, maxBytes: number): SandboxError {
  return new SandboxError(
    'too-large',
    `the content has ${bytes} bytes, at most ${maxBytes} can be uploaded at once; upload parts and join them with cat`,
  );
}

/** @throws SandboxError `invalid` for bytes that are no UTF-8 text and were not asked for as base64 */
export function encodeContent(bytes: Uint8Array, binary: boolean, path: string): string {
  if (binary) return Buffer.from(bytes).toString('base64');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new SandboxError('invalid', `${path} is not UTF-8 text; call download_file again with binary=true to get it as base64`, {
      cause: error,
    });
  }
}

/**
 * What a command printed, as text; where something is left out that is said in its place, and what else the server has to say at the end of stderr.
 * @param outputBytes what is kept of each stream
 */
export function printed(
  { stdout, stderr, dropped, timedOut, note }: CommandResult,
  { timeoutSeconds, outputBytes }: { readonly timeoutSeconds: number; readonly outputBytes: number },
): { stdout: string; stderr: string } {
  const remarks = [
    timedOut ? `timed out after ${timeoutSeconds} s: the command and everything it started was killed` : undefined,
    note,
  ].filter((remark) => remark !== undefined);
  const head = headBytes(outputBytes);
  const said = textOf(stderr, dropped.stderr, head);
  const separator = remarks.length === 0 || said === '' || said.endsWith('\n') ? '' : '\n';
  return {
    stdout: textOf(stdout, dropped.stdout, head),
    stderr: said + separator + remarks.map((remark) => `[toolyard] ${remark}\n`).join(''),
  };
}

function textOf(bytes: Uint8Array, dropped: number, head: number): string {
  const text = (part: Uint8Array): string => Buffer.from(part).toString();
  if (dropped === 0) return text(bytes);
  const remark = `[toolyard] ${dropped} bytes are left out here; print less, or write to a file and use download_file`;
  return `${text(bytes.subarray(0, head))}\n${remark}\n${text(bytes.subarray(head))}`;
}
