import { z } from 'zod';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

export const officialConfig = z.object({
  ANONYMOUS_AUTH: flag.default(true).describe('whether POST /auth/none gives tokens for the anonymous namespace'),
  DURABLE: flag.default(false).describe('whether its PostgreSQL waits for the disk at each commit, as in production'),
});
