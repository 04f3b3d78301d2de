import { z } from 'zod';
import { logLevels } from '../log.ts';

const port = z.coerce.number().int().min(0).max(65_535);

/**
 * What every HTTP process of toolyard can be told; spread into its own schema, where a default may be replaced:
 * `z.object({ ...httpHostSettings, PORT: httpHostSettings.PORT.default(8001) })`.
 */
export const httpHostSettings = {
  HOST: z.string().default('127.0.0.1').describe('address to listen on; 0.0.0.0 for every interface'),
  PORT: port.default(8000).describe('port for plain HTTP; 0 takes any free one'),
  TLS_PORT: port.default(8443).describe('port for HTTPS, used when a certificate is given; 0 takes any free one'),
  TLS_CERT_FILE: z.string().optional().describe('certificate chain in PEM, read again when the file changes; needs TLS_KEY_FILE'),
  TLS_KEY_FILE: z.string().optional().describe('private key in PEM of TLS_CERT_FILE'),
  METRICS_PORT: z
    .union([z.literal('off'), port], { error: 'a port, 0 for any free one, or off' })
    .default(9090)
    .describe('port of /metrics (Prometheus); off for none'),
  DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    .default(5)
    .describe('time between reporting unready and no longer accepting requests, when told to stop'),
  FINISH_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    // with DRAIN_SECONDS=5 within Kubernetes' default grace period of 30 s
    .default(20)
    .describe('time for requests in flight to finish after that; then they are cut'),
  LOG_LEVEL: z.enum(logLevels).default('info').describe('least serious log entries to write'),
};

export type HttpHostSettings = z.output<z.ZodObject<typeof httpHostSettings>>;
