import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { AddressRefused } from '../../lib/address-guard/guard.ts';
import type { Failure, FailureReason, Verdict } from './answers.ts';

/** What was seen on the wire during a probe. */
export interface Facts {
  readonly timeoutMs: number;
  /** how far it got: until a `handshake`, or until the `tools` were asked for */
  stage: 'handshake' | 'tools';
  /** of the last answer */
  status?: number;
  /** whether that came with WWW-Authenticate */
  challenged?: boolean;
  /** why there was no answer */
  network?: unknown;
  tooLarge?: boolean;
  /** it made the probe send more than any handshake needs */
  flooded?: boolean;
  /** what there was too much of */
  overflow?: string;
}

/**
 * Why a probe did not succeed. Pure: facts and the SDK's error in, one verdict out. Messages are ours alone and the same for the same fault;
 * of what the other side sent only numbers are repeated.
 */
export function classify(error: unknown, facts: Facts): Verdict {
  if (facts.tooLarge === true) return fails('AnswerTooLarge', 'its answers are too large to read: it should list fewer or smaller tools');
  if (facts.flooded === true) return fails('InvalidAnswer', 'it asks back without end, where a list of tools is asked for');
  if (facts.overflow !== undefined) {
    return fails('TooManyTools', `it ${facts.overflow}: no client can use that many; split it into several servers`);
  }
  if (isTimeout(error) || isTimeout(facts.network))
    return fails('TimedOut', `it gave no complete answer within ${facts.timeoutMs / 1000} s`);
  if (facts.network !== undefined) return networkFailure(facts.network);
  if (facts.status === undefined) return fails('ConnectionLost', 'the connection ended before an answer came');
  return facts.status >= 300 ? httpFailure(facts.status, facts.challenged === true) : protocolFailure(error, facts.stage);
}

function fails(reason: FailureReason, message: string): Failure {
  return { is: 'fails', reason, message };
}

const TIMEOUT_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

function isTimeout(error: unknown): boolean {
  return causes(error).some((cause) => {
    if (cause instanceof SdkError) return cause.code === SdkErrorCode.RequestTimeout;
    return cause.name === 'TimeoutError' || cause.name === 'AbortError' || TIMEOUT_CODES.has(codeOf(cause));
  });
}

const NAME_CODES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'ESERVFAIL']);
const REFUSED_CODES = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);
const TLS_CODES =
  /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|PATH_LENGTH_|HOSTNAME_MISMATCH|CRL_|ERROR_IN_)/;

function networkFailure(error: unknown): Failure {
  const chain = causes(error);
  const refused = chain.find((cause) => cause instanceof AddressRefused);
  if (refused !== undefined) {
    return fails('AddressRefused', `its address is ${refused.reason}, which the operator does not dial for a declaration`);
  }
  if (chain.some(({ message }) => message === 'bad port')) {
    return fails('AddressRefused', 'its port is one that web clients refuse to use: let it listen at another');
  }
  if (chain.some(({ name }) => name === 'HTTPParserError')) return fails('NotMcp', 'something answers there, but not HTTP');
  const code = chain.map(codeOf).find((text) => text !== '') ?? 'no reason given';
  if (code === 'SERVICES_UNREAD') {
    return fails(
      'NameNotResolved',
      'its host name cannot be resolved: the operator could not read the Services of that namespace; its log says why',
    );
  }
  if (NAME_CODES.has(code)) return fails('NameNotResolved', `its host name cannot be resolved (${code})`);
  if (REFUSED_CODES.has(code)) return fails('ConnectionRefused', `nothing listens at its address (${code}): is the server running?`);
  if (TLS_CODES.test(code))
    return fails('TlsFailed', `its certificate or TLS is not accepted (${code}): CA_FILE names further authorities`);
  return fails('ConnectionLost', `the connection broke (${code})`);
}

function httpFailure(status: number, challenged: boolean): Verdict {
  if ((status === 401 || status === 403) && challenged) return { is: 'auth-required', status };
  if (status < 400)
    return fails('Redirected', `it answers with a redirect (HTTP ${status}), which probes do not follow: declare the final address`);
  const advice = status === 404 || status === 405 ? ': is the path right? Many servers listen at /mcp' : '';
  return fails('HttpError', `it answers HTTP ${status}${advice}`);
}

function protocolFailure(error: unknown, stage: Facts['stage']): Failure {
  const asked = stage === 'tools' ? 'tools/list' : 'the handshake';
  if (error instanceof ProtocolError) return fails('InvalidAnswer', `it answers ${asked} with the JSON-RPC error ${error.code}`);
  if (stage === 'tools') return fails('InvalidAnswer', 'its answer to tools/list is not what MCP prescribes');
  return fails('NotMcp', 'it answers HTTP, but not MCP: is this the address of an MCP server?');
}

const DEEPEST = 8;

/** An error and what caused it; the parts of an aggregate too, since several addresses of one name may have been tried. */
function causes(error: unknown, depth = 0): Error[] {
  if (!(error instanceof Error) || depth > DEEPEST) return [];
  const parts = error instanceof AggregateError ? error.errors : [];
  return [error, ...causes(error.cause, depth + 1), ...parts.flatMap((part) => causes(part, depth + 1))];
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
