import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { RequestListener, ServerOptions } from 'node:http';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../config.ts';
import type { Log } from '../log.ts';
import type { HttpHostSettings } from './config.ts';
import { watchFiles } from './watch-file.ts';
import { messageOf } from '../error-message.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Undefined when no certificate is given. @throws ConfigError when only half of it is */
export function tlsFiles({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }: HttpHostSettings): TlsFiles | undefined {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  if (certFile === undefined && keyFile === undefined) return undefined;
  const missing = certFile === undefined ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE';
  throw new ConfigError([{ name: missing, got: '(not set)', accepts: 'a PEM file: TLS_CERT_FILE and TLS_KEY_FILE go together' }]);
}

/** An HTTPS server whose certificate follows its files; a pair that does not fit together leaves the last good one in use. */
export function createTlsServer(files: TlsFiles, options: ServerOptions, listener: RequestListener, log: Log): Server {
  // a connection comes under the limits of HTTP when its handshake is done; until then this one counts
  const handshake = options.headersTimeout === undefined ? {} : { handshakeTimeout: options.headersTimeout };
  const server = createServer({ ...options, ...handshake, ...readPair(files) }, listener);
  const stop = watchFiles([files.certFile, files.keyFile], () => {
    try {
      server.setSecureContext(readPair(files));
      log.info({ certFile: files.certFile }, 'certificate replaced');
    } catch (error) {
      log.error({ certFile: files.certFile, err: error }, 'the new certificate is unusable; the last good one stays in use');
    }
  });
  server.once('close', stop);
  return server;
}

function readPair({ certFile, keyFile }: TlsFiles): { cert: Buffer; key: Buffer } {
  try {
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const reason = messageOf(error);
    throw new ConfigError([
      { name: 'TLS_CERT_FILE', got: JSON.stringify(certFile), accepts: `a PEM certificate with its key in TLS_KEY_FILE: ${reason}` },
    ]);
  }
}
