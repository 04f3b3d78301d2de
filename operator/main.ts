import { Registry } from 'prom-client';
import { answerJson } from '../lib/http-host/answer.ts';
import { startHttpHost } from '../lib/http-host/host.ts';
import { runProcess } from '../lib/http-host/process.ts';
import { createLog } from '../lib/log.ts';
import { config } from './config.ts';

await runProcess('operator', config, async (settings) => {
  const log = createLog('operator', settings.LOG_LEVEL);
  const metrics = new Registry();
  const operator =
    settings.SOURCE === 'configmaps'
      ? await (await import('./cluster.ts')).startClusterOperator(settings, { log, metrics })
      : await (await import('./operator.ts')).startOperator(settings, { log, metrics });
  return startHttpHost({
    part: 'operator',
    settings,
    handler: (_req, res) => answerJson(res, 404, { error: 'the operator serves /healthz, /readyz and, on METRICS_PORT, /metrics' }),
    ready: () => operator.ready(),
    metrics,
    log,
    onClose: () => operator.close(),
  });
});
