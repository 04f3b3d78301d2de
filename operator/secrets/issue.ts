import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  cryptoProvider,
} from '@peculiar/x509';

cryptoProvider.set(webcrypto);

// Loaded only when something has to be signed: importing the library takes longer than the rest of a start.

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
export const CERTIFICATE_DAYS = 90;
export const AUTHORITY_DAYS = 3650;
/** Clocks differ. */
const BACKDATED_MS = 5 * 60_000;

/** A certificate authority for one install: it may sign servers, no further authorities. */
export async function newAuthority(name: string, now: number): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  const cert = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ECDSA,
    notBefore: new Date(now - BACKDATED_MS),
    notAfter: new Date(now + AUTHORITY_DAYS * DAY_MS),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pemText(cert), key: await keyText(keys.privateKey) };
}

/** A server's certificate for these host names and addresses. */
export async function newCertificate(hosts: readonly string[], authority: KeyPair, now: number): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.cert);
  const keys = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  const end = Math.min(now + CERTIFICATE_DAYS * DAY_MS, issuer.notAfter.getTime());
  const cert = await X509CertificateGenerator.create({
    serialNumber: serial(),
    // names count in the extension only
    subject: 'CN=toolyard',
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await signingKey(authority.key),
    signingAlgorithm: ECDSA,
    notBefore: new Date(now - BACKDATED_MS),
    notAfter: new Date(end),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }))),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export()),
    ],
  });
  return { cert: pemText(cert), key: await keyText(keys.privateKey) };
}

function serial(): string {
  // positive, and not zero
  return `4${Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)))
    .toString('hex')
    .slice(1)}`;
}

function pemText(cert: X509Certificate): string {
  return `${cert.toString('pem').trim()}\n`;
}

async function keyText(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${der.replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END PRIVATE KEY-----\n`;
}

async function signingKey(pem: string): Promise<CryptoKey> {
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
  return webcrypto.subtle.importKey('pkcs8', der, ECDSA, false, ['sign']);
}
