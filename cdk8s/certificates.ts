import { Construct } from 'constructs';
import { serviceHosts } from './fetch.ts';
import { addObject, File, type PartProps } from './manifest.ts';
import { made } from './names.ts';
import { unlessEmpty, type Template } from './template.ts';

const API = 'cert-manager.io/v1';
const SELF_SIGNED = 'toolyard-self-signed';
const OWN_ISSUER = { kind: 'Issuer', name: made.authority };

/** Certificates by cert-manager, in place of the operator's. */
export class Certificates extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'certificates');
    const { certificates, fetch } = template.values;
    const byCertManager = template.equals(certificates.issuer, 'cert-manager');
    const own = template.not(template.has(certificates.issuerRef));
    addAuthority(new File(this, 'certificates/authority', { when: template.all(byCertManager, own) }), template);
    const needed = template.all(byCertManager, template.has(fetch.enabled), template.not(template.has(fetch.tlsSecret)));
    addObject(new File(this, 'certificates/fetch', { when: needed }), {
      apiVersion: API,
      kind: 'Certificate',
      name: made.fetchTls,
      namespace: template.namespace,
      part: 'fetch',
      body: {
        spec: {
          secretName: made.fetchTls,
          dnsNames: serviceHosts(template, 'fetch'),
          privateKey: { algorithm: 'ECDSA', rotationPolicy: 'Always' },
          ...template.fields(own, { issuerRef: OWN_ISSUER }),
          ...unlessEmpty(template, 'issuerRef', certificates.issuerRef),
        },
      },
    });
  }
}

function addAuthority(file: File, { namespace }: Template): void {
  addObject(file, { apiVersion: API, kind: 'Issuer', name: SELF_SIGNED, namespace, body: { spec: { selfSigned: {} } } });
  addObject(file, {
    apiVersion: API,
    kind: 'Certificate',
    name: made.authority,
    namespace,
    body: {
      spec: {
        isCA: true,
        commonName: 'toolyard',
        secretName: made.authority,
        // ten years: whoever trusts it has to be told of another one
        duration: '87600h',
        privateKey: { algorithm: 'ECDSA' },
        issuerRef: { kind: 'Issuer', name: SELF_SIGNED },
      },
    },
  });
  addObject(file, {
    apiVersion: API,
    kind: OWN_ISSUER.kind,
    name: OWN_ISSUER.name,
    namespace,
    body: { spec: { ca: { secretName: made.authority } } },
  });
}
