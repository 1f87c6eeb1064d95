import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type ErrorDetail, PulsefeedError } from '../base/errors.ts';
import type { TlsIdentity } from './connect-guarded.ts';
import type { TargetGuard } from './target-guard.ts';

/** What a consumer's endpoint asks for, as it is sealed. */
export type Credential =
  /** The long-lived token of RCP-028. */
  | { readonly type: 'bearer'; readonly token: string }
  | {
      readonly type: 'client_credentials';
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope: string | undefined;
    }
  /** mTLS: PEM of the certificate (with its chain) and of its key. */
  | { readonly type: 'certificate'; readonly certificate: string; readonly privateKey: string };

/** The client certificate of a credential that is one. */
export function identityOf(credential: Credential | undefined): TlsIdentity | undefined {
  return credential?.type === 'certificate'
    ? { cert: credential.certificate, key: credential.privateKey }
    : undefined;
}

const longest = 20_000;

/**
 * Reads the body of `POST /EntityEventCredential`. @throws EE-114 with one detail for each member that is wrong, EE-502
 * for a token URL that may not be called. No value of the body is repeated in a message.
 */
export function readCredential(members: Readonly<Record<string, unknown>>, guard: TargetGuard): Credential {
  const details: ErrorDetail[] = [];
  const text = (name: string, required = true): string => {
    const value = members[name];
    if (typeof value === 'string' && value !== '' && value.length <= longest) return value;
    if (value === undefined && !required) return '';
    details.push({ code: 'EE-114', target: name, message: `${name} is a text.` });
    return '';
  };
  const type = members.Type;
  const allowed: Record<string, readonly string[]> = {
    bearer: ['Token'],
    client_credentials: ['TokenUrl', 'ClientId', 'ClientSecret', 'Scope'],
    certificate: ['Certificate', 'PrivateKey'],
  };
  const own = typeof type === 'string' ? allowed[type] : undefined;
  if (own === undefined) {
    throw new PulsefeedError('EE-114', 'Type is bearer, client_credentials or certificate.', {
      target: 'Type',
    });
  }
  for (const name of Object.keys(members)) {
    if (name !== 'Type' && !name.includes('@') && !own.includes(name)) {
      details.push({ code: 'EE-114', target: name, message: `A credential of this type has no ${name}.` });
    }
  }
  const credential = build(type as Credential['type'], text);
  if (details.length === 0) check(credential, guard, details);
  if (details.length > 0) {
    throw new PulsefeedError('EE-114', details.map(({ message }) => message).join(' '), { details });
  }
  return credential;
}

function build(type: Credential['type'], text: (name: string, required?: boolean) => string): Credential {
  switch (type) {
    case 'bearer':
      return { type, token: text('Token') };
    case 'client_credentials': {
      const scope = text('Scope', false);
      return {
        type,
        tokenUrl: text('TokenUrl'),
        clientId: text('ClientId'),
        clientSecret: text('ClientSecret'),
        scope: scope === '' ? undefined : scope,
      };
    }
    case 'certificate':
      return { type, certificate: text('Certificate'), privateKey: text('PrivateKey') };
    default: {
      const never: never = type;
      return never;
    }
  }
}

function check(credential: Credential, guard: TargetGuard, details: ErrorDetail[]): void {
  const fault = (target: string, message: string) => details.push({ code: 'EE-114', target, message });
  switch (credential.type) {
    case 'bearer':
      // It becomes a header: nothing but what RFC 6750 allows in one.
      if (!/^[A-Za-z0-9._~+/-]+=*$/.test(credential.token))
        fault('Token', 'Token is no bearer token (RFC 6750).');
      return;
    case 'client_credentials':
      if (!URL.canParse(credential.tokenUrl)) fault('TokenUrl', 'TokenUrl is no URL.');
      else guard.checkUrl(new URL(credential.tokenUrl));
      return;
    case 'certificate':
      try {
        const certificate = new X509Certificate(credential.certificate);
        if (!certificate.checkPrivateKey(createPrivateKey(credential.privateKey)))
          fault('PrivateKey', 'PrivateKey does not belong to the certificate.');
      } catch {
        fault('Certificate', 'Certificate and PrivateKey are PEM, the key without a passphrase.');
      }
      return;
    default: {
      const never: never = credential;
      throw new Error(String(never));
    }
  }
}
