import { addObject, type File } from './manifest.ts';
import { made } from './names.ts';
import type { Template } from './template.ts';

const part = 'operator';
const OURS = 'toolyard.dev/';
const KIND = 'toolyard.dev/kind';

/** A map that may be absent. */
function mapOf(object: string, field: string): string {
  return `${object} != null && has(${object}.metadata.${field}) ? ${object}.metadata.${field} : {}`;
}

/** Nothing outside toolyard.dev/ came, went or changed; `kept` are keys within that must not change either. */
function onlyOurs(before: string, after: string, kept: readonly string[]): string {
  const free = [`k.startsWith('${OURS}')`, ...kept.map((key) => `k != '${key}'`)].join(' && ');
  const equal = (a: string, b: string) =>
    `variables.${a}.all(k, (${free}) || (k in variables.${b} && variables.${b}[k] == variables.${a}[k]))`;
  return `${equal(before, after)} && ${equal(after, before)}`;
}

/** Nothing came or changed. */
function onlyLess(map: string): string {
  return `variables.new${map}.all(k, k in variables.old${map} && variables.old${map}[k] == variables.new${map}[k])`;
}

/** A field that may be absent is as it was. */
function unchanged(field: string): string {
  return `has(object.${field}) == has(oldObject.${field}) && (!has(object.${field}) || object.${field} == oldObject.${field})`;
}

/**
 * Rights on ConfigMaps cannot be limited to labels or fields. This keeps an operator that may write in every namespace to what it writes:
 * labels and annotations under toolyard.dev/, on declarations. The API server sets managedFields and resourceVersion itself.
 */
export function addAdmissionPolicy(file: File, template: Template): void {
  const { namespace } = template;
  const name = `toolyard-operator-${namespace}`;
  addObject(file, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    name,
    part,
    body: {
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'], scope: '*' },
          ],
        },
        matchConditions: [
          { name: 'by-the-operator', expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${part}'` },
          {
            name: 'not-its-own-authority',
            expression: `!(request.namespace == '${namespace}' && request.name == '${made.authority}')`,
          },
        ],
        variables: [
          { name: 'oldLabels', expression: mapOf('oldObject', 'labels') },
          { name: 'newLabels', expression: mapOf('object', 'labels') },
          { name: 'oldAnnotations', expression: mapOf('oldObject', 'annotations') },
          { name: 'newAnnotations', expression: mapOf('object', 'annotations') },
        ],
        validations: [
          {
            expression: "request.operation == 'UPDATE'",
            message: 'the operator of toolyard creates no ConfigMap but that of its certificate authority',
          },
          {
            // from a ConfigMap that lost the label it may take what it wrote there before
            expression: `'${KIND}' in variables.oldLabels && variables.oldLabels['${KIND}'] == 'server.json' || ${onlyLess('Labels')} && ${onlyLess('Annotations')}`,
            message: `the operator of toolyard writes only to ConfigMaps labelled ${KIND}=server.json`,
          },
          {
            expression: onlyOurs('oldLabels', 'newLabels', [KIND]),
            message: `the operator of toolyard changes no labels outside ${OURS}, and not ${KIND}`,
          },
          {
            expression: onlyOurs('oldAnnotations', 'newAnnotations', []),
            message: `the operator of toolyard changes no annotations outside ${OURS}`,
          },
          ...['data', 'binaryData', 'immutable', 'metadata.finalizers', 'metadata.ownerReferences'].map((field) => ({
            expression: unchanged(field),
            message: `the operator of toolyard does not change ${field} of a ConfigMap`,
          })),
        ],
      },
    },
  });
  addObject(file, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    name,
    part,
    body: { spec: { policyName: name, validationActions: ['Deny'] } },
  });
}
