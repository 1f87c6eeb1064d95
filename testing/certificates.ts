import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** For tests: a certificate and its key as PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
  readonly signer: { readonly name: string; readonly key: KeyObject };
}

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const hex = (text: string) => Buffer.from(text, 'hex');
const ecdsaWithSha256 = sequence(der(0x06, hex('2a8648ce3d040302')));
const nameOf = (text: string) =>
  sequence(der(0x31, sequence(der(0x06, hex('550403')), der(0x0c, Buffer.from(text)))));
const time = (text: string) => der(0x17, Buffer.from(text));

/**
 * Makes an X.509 certificate for 127.0.0.1 and localhost, signed by `issuer` or, as an authority, by itself. Node can read
 * certificates but not make them, and a test needs no tool of the machine for these few fields.
 */
export function testCertificate(name: string, issuer?: TestCertificate): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signer = issuer?.signer ?? { name, key: privateKey };
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from('localhost')));
  const extensions = sequence(
    sequence(
      der(0x06, hex('551d13')),
      der(0x04, sequence(...(issuer === undefined ? [der(0x01, hex('ff'))] : []))),
    ),
    sequence(der(0x06, hex('551d11')), der(0x04, names)),
  );
  const body = sequence(
    der(0xa0, der(0x02, hex('02'))),
    der(0x02, Buffer.from([0x01, ...Buffer.from(name).subarray(0, 8)])),
    ecdsaWithSha256,
    nameOf(signer.name),
    sequence(time('200101000000Z'), time('491231235959Z')),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', body, signer.key);
  const whole = sequence(body, ecdsaWithSha256, der(0x03, hex('00'), signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    signer: { name, key: privateKey },
  };
}
