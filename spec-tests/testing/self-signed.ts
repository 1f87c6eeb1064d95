import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A key and a certificate for 127.0.0.1 that nobody but the test trusts, both as PEM. */
export function selfSigned(): { key: string; cert: string } {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: certificate(privateKey),
  };
}

const sha256WithRsa = sequence(oid([42, 134, 72, 134, 247, 13, 1, 1, 11]), tagged(5, Buffer.alloc(0)));

/** X.509 version 1, RFC 5280 section 4.1, with the same name as issuer and subject. */
function certificate(key: KeyObject): string {
  const commonName = sequence(oid([85, 4, 3]), tagged(12, Buffer.from('127.0.0.1')));
  const name = sequence(tagged(0x31, commonName));
  const dayMs = 86_400_000;
  const validity = sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + 30 * dayMs));
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const serial = tagged(2, Buffer.from([1]));
  const body = sequence(serial, sha256WithRsa, name, validity, name, publicKey);
  const signature = tagged(3, Buffer.concat([Buffer.from([0]), sign('sha256', body, key)]));
  const base64 = sequence(body, sha256WithRsa, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/(.{64})/g, '$1\n').trim()}\n-----END CERTIFICATE-----\n`;
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tagged(23, Buffer.from(`${digits}Z`));
}

function oid(bytes: number[]): Buffer {
  return tagged(6, Buffer.from(bytes));
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** One element of DER: tag, length, content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}
