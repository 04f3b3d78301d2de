import { SandboxError, type CommandResult } from './backend.ts';

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

/** What a command printed, as text, with what the server has to say about it at the end of stderr. */
export function printed(result: CommandResult, timeoutSeconds: number): { stdout: string; stderr: string } {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
  const remarks = [
    result.dropped.stdout > 0 ? droppedRemark('stdout', result.stdout.length, result.dropped.stdout) : undefined,
    result.dropped.stderr > 0 ? droppedRemark('stderr', result.stderr.length, result.dropped.stderr) : undefined,
    result.timedOut ? `timed out after ${timeoutSeconds} s: the command and everything it started was killed` : undefined,
    result.note,
  ].filter((remark) => remark !== undefined);
  const stderr = text(result.stderr);
  const separator = remarks.length === 0 || stderr === '' || stderr.endsWith('\n') ? '' : '\n';
  return { stdout: text(result.stdout), stderr: stderr + separator + remarks.map((remark) => `[toolyard] ${remark}\n`).join('') };
}

function droppedRemark(stream: string, kept: number, dropped: number): string {
  return `${stream} is cut after ${kept} bytes, ${dropped} more were dropped; print less, or write to a file and use download_file`;
}
