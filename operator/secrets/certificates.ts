import { X509Certificate } from 'node:crypto';

/** What plans need to know of a certificate. Times are Unix ms. */
export interface CertificateFacts {
  readonly from: number;
  readonly until: number;
  /** sorted; names and addresses */
  readonly hosts: readonly string[];
}

/** @returns undefined for a text that holds no certificate */
export function certificateFacts(pem: string | undefined): CertificateFacts | undefined {
  const cert = certificateIn(pem);
  if (cert === undefined) return undefined;
  return { from: cert.validFromDate.getTime(), until: cert.validToDate.getTime(), hosts: hostsOf(cert.subjectAltName ?? '') };
}

/** Whether this authority signed that certificate. */
export function isSignedBy(pem: string | undefined, authorityPem: string | undefined): boolean {
  const [cert, authority] = [certificateIn(pem), certificateIn(authorityPem)];
  return cert !== undefined && authority !== undefined && cert.checkIssued(authority) && cert.verify(authority.publicKey);
}

/** From `DNS:fetch.toolyard.svc, IP Address:127.0.0.1`. */
function hostsOf(subjectAltName: string): readonly string[] {
  return subjectAltName
    .split(', ')
    .map((entry) => entry.replace(/^(DNS|IP Address):/, ''))
    .filter((host) => host !== '')
    .toSorted();
}

function certificateIn(pem: string | undefined): X509Certificate | undefined {
  if (pem === undefined || pem.trim() === '') return undefined;
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
