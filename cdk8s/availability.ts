import type { Construct } from 'constructs';
import { addObject, File } from './manifest.ts';
import { selectorOf, type Part } from './names.ts';
import type { Condition, Template } from './template.ts';

/** Keeps one of several pods while nodes are drained. One pod alone would only block the drain. */
export function addDisruptionBudget(scope: Construct, template: Template, part: Part, severalPods: Condition): void {
  const file = new File(scope, `${part}/disruption-budget`, { when: severalPods });
  addObject(file, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    name: part,
    namespace: template.namespace,
    part,
    body: { spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(part) } } },
  });
}

/** Reads a part's metrics, for the Prometheus operator. */
export function addServiceMonitor(scope: Construct, template: Template, part: Part, when: Condition): void {
  const { serviceMonitor } = template.values.metrics;
  const file = new File(scope, `${part}/service-monitor`, { when: template.all(template.has(serviceMonitor.enabled), when) });
  addObject(file, {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    name: part,
    namespace: template.namespace,
    part,
    labels: template.entries(serviceMonitor.labels),
    body: {
      spec: {
        selector: { matchLabels: selectorOf(part) },
        endpoints: [{ port: part === 'registry' ? 'http' : 'metrics', path: '/metrics', interval: serviceMonitor.interval }],
      },
    },
  });
}
