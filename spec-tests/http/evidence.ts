import type { Exchange } from './exchange.ts';

/** What a report shows of one exchange. Holds no secret. */
export type Evidence = {
  /** A command that repeats the request; secrets are replaced by shell variables. */
  curl: string;
  status: number;
  responseHeaders: Record<string, string>;
  /** The first part of the body. */
  responseBody: string;
  durationMs: number;
};

const maxBodyCharacters = 1200;
const shownHeaders = [
  'content-type',
  'odata-version',
  'retry-after',
  'location',
  'odata-entityid',
  'preference-applied',
  'allow',
  'www-authenticate',
];

/** Turns an exchange into evidence that can be sent to a vendor. */
export function evidenceOf(exchange: Exchange, secrets: readonly string[]): Evidence {
  const responseHeaders: Record<string, string> = {};
  for (const name of shownHeaders) {
    const value = exchange.headers[name];
    if (value !== undefined) responseHeaders[name] = redact(value, secrets);
  }
  return {
    curl: redact(curlOf(exchange), secrets),
    status: exchange.status,
    responseHeaders,
    responseBody: redact(excerpt(exchange.text), secrets),
    durationMs: Math.round(exchange.durationMs),
  };
}

/** The request as a curl command, quoted for a POSIX shell. The Authorization header always becomes `$TOKEN`. */
export function curlOf(exchange: Exchange): string {
  const parts = ['curl -i -g'];
  if (exchange.method !== 'GET') parts.push(`-X ${exchange.method}`);
  for (const [name, value] of Object.entries(exchange.requestHeaders)) {
    if (name.toLowerCase() === 'authorization') parts.push('-H "Authorization: Bearer $TOKEN"');
    else parts.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  }
  if (exchange.requestBody !== undefined) parts.push(`--data ${shellQuote(exchange.requestBody)}`);
  parts.push(shellQuote(exchange.url));
  return parts.join(' ');
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function excerpt(text: string): string {
  if (text.length <= maxBodyCharacters) return text;
  return `${text.slice(0, maxBodyCharacters)}... (${text.length} characters)`;
}

/** Replaces every given secret, also where it stands percent-encoded. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of new Set([secret, encodeURIComponent(secret)]))
      clean = clean.replaceAll(form, '(secret)');
  }
  return clean;
}
