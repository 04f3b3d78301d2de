import { Construct } from 'constructs';
import { addObject, File, type PartProps } from './manifest.ts';
import { made, servers, type Server } from './names.ts';
import { runs, serviceHosts } from './server.ts';
import { unlessEmpty, type Condition, type Template } from './template.ts';

const API = 'cert-manager.io/v1';
const SELF_SIGNED = 'toolyard-self-signed';
const OWN_ISSUER = { kind: 'Issuer', name: made.authority };

/** Certificates by cert-manager, in place of the operator's. */
export class Certificates extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'certificates');
    const { certificates } = template.values;
    const byCertManager = template.equals(certificates.issuer, 'cert-manager');
    const own = template.not(template.has(certificates.issuerRef));
    addAuthority(new File(this, 'certificates/authority', { when: template.all(byCertManager, own) }), template);
    for (const part of servers) addCertificate(this, template, part, byCertManager);
  }
}

function addCertificate(scope: Construct, template: Template, part: Server, byCertManager: Condition): void {
  const { issuerRef } = template.values.certificates;
  const needed = template.all(byCertManager, runs(template, part), template.not(template.has(template.values[part].tlsSecret)));
  addObject(new File(scope, `certificates/${part}`, { when: needed }), {
    apiVersion: API,
    kind: 'Certificate',
    name: made.tls[part],
    namespace: template.namespace,
    part,
    body: {
      spec: {
        secretName: made.tls[part],
        dnsNames: serviceHosts(template, part),
        privateKey: { algorithm: 'ECDSA', rotationPolicy: 'Always' },
        ...template.fields(template.not(template.has(issuerRef)), { issuerRef: OWN_ISSUER }),
        ...unlessEmpty(template, 'issuerRef', issuerRef),
      },
    },
  });
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
