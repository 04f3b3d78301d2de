import { runProcess } from '../../../lib/http-host/process.ts';
import { officialConfig } from './config.ts';
import { startOfficialRegistry } from './registry.ts';

/** `node test/differential/official/main.ts` runs the official registry with a database of its own, until Ctrl-C. */
await runProcess('official registry', officialConfig, async ({ ANONYMOUS_AUTH, DURABLE }) => {
  const running = await startOfficialRegistry({ anonymousAuth: ANONYMOUS_AUTH, durable: DURABLE });
  const found = { OFFICIAL_REGISTRY_URL: running.url, OFFICIAL_REGISTRY_SEED_FILE: running.seedFile };
  if (process.send === undefined)
    process.stdout.write(
      `${Object.entries(found)
        .map((entry) => entry.join('='))
        .join('\n')}\n`,
    );
  else process.send(found);
  return running;
});
