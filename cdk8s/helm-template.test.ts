import { Yaml } from 'cdk8s';
import { expect, test } from 'vitest';
import { HelmTemplate } from './helm-template.ts';

const template = new HelmTemplate();
const { values, namespace } = template;

function chartOf(object: object): string {
  return template.render([object], true).trimEnd();
}

test('a value alone goes through toJson, so that nothing a user sets can break out of its place', () => {
  expect(chartOf({ a: values.operator.replicas })).toBe('a: {{ toJson $.Values.operator.replicas }}');
  expect(chartOf({ a: [values.install] })).toBe('a:\n  - {{ toJson $.Values.install }}');
});

test('a value within a text does too, as a whole', () => {
  expect(chartOf({ a: `x "${namespace}" y` })).toBe(String.raw`a: {{ toJson (print "x \"" $.Release.Namespace "\" y") }}`);
  expect(chartOf({ a: `it's: ${namespace}` })).toBe('a: {{ toJson (print "it\'s: " $.Release.Namespace) }}');
});

test('a list or map is written as it is, below its field', () => {
  expect(chartOf({ a: { b: values.fetch.resources } })).toBe('a:\n  b:\n    {{- toYaml $.Values.fetch.resources | nindent 4 }}');
});

test('within a text of several lines a value is put in place', () => {
  expect(chartOf({ a: `one\nin: ${namespace}\n` })).toBe('a: |\n  one\n  in: {{ $.Release.Namespace }}');
});

test('braces that are meant for somebody else stay what they are', () => {
  expect(chartOf({ a: '{{ .Node }}' })).toBe('a: "{{ "{{" }} .Node }}"');
  expect(chartOf({ a: template.when(template.has(values.install), ['{{x']) })).toContain('{{ "{{" }}x');
});

test('what is there under a condition is written with it, at its depth', () => {
  const { expose, list } = { expose: template.equals(values.exposure.kind, 'none'), list: values.operator.namespaces };
  expect(chartOf({ a: [1, ...template.when(expose, [{ b: list }])] })).toBe(
    [
      'a:',
      '  - 1',
      '  {{- if (eq $.Values.exposure.kind "none") }}',
      '  - b:',
      '      {{- toYaml $.Values.operator.namespaces | nindent 6 }}',
      '  {{- end }}',
    ].join('\n'),
  );
  expect(chartOf({ a: { b: 1, ...template.fields(template.not(expose), { c: 2 }) } })).toBe(
    ['a:', '  b: 1', '  {{- if (not (eq $.Values.exposure.kind "none")) }}', '  c: 2', '  {{- end }}'].join('\n'),
  );
});

test('a value that is needed says so only where it is used', () => {
  expect(chartOf({ a: values.exposure.host })).toContain('required "exposure.host is needed');
  expect(chartOf({ a: [...template.when(template.has(values.exposure.host), [1])] })).toContain('{{- if $.Values.exposure.host }}');
});

test('numbers become text without an exponent', () => {
  expect(chartOf({ a: template.text(values.fetch.heapMiB) })).toBe('a: {{ toJson (toJson $.Values.fetch.heapMiB) }}');
});

test('a list cannot stand within a text, nor text where a value is asked for', () => {
  const tolerations = values.fetch.tolerations as unknown as string;
  expect(() => chartOf({ a: `x${tolerations}` })).toThrow('cannot stand within a text');
  expect(() => template.has('text')).toThrow("not one of a chart's values");
});

test('cdk8s quotes what other readers of YAML take for something else', () => {
  expect(Yaml.stringify({ a: '1e3', b: 'y', c: '0755' })).toBe('a: "1e3"\nb: "y"\nc: "0755"\n');
});
