/** What came back for one request. */
export interface FuzzAnswer {
  readonly status: number;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** What is wrong with an answer, in words; undefined when nothing is. */
export function faultOf(method: string, { status, rawHeaders, body }: FuzzAnswer): string | undefined {
  if (status >= 500 && status !== 501) return `status ${status}`;
  const versions = values(rawHeaders, 'odata-version');
  if (versions.length !== 1) return `${versions.length} OData-Version headers`;
  const type = values(rawHeaders, 'content-type')[0] ?? '';
  if (status < 400) return successFault(status, type, method === 'HEAD' ? undefined : body);
  if (method === 'HEAD') return undefined;
  if (!type.startsWith('application/json')) return `an error of type ${type}`;
  if (status === 405 && values(rawHeaders, 'allow').length !== 1) return 'a 405 without Allow';
  return errorFault(body);
}

function successFault(status: number, type: string, body: string | undefined): string | undefined {
  if (status === 204 || status === 304) return (body ?? '') === '' ? undefined : `a ${status} with a body`;
  if (status !== 200) return `status ${status}`;
  if (type === '') return 'no Content-Type';
  if (body === undefined || !type.startsWith('application/json')) return undefined;
  return parsed(body) === undefined ? 'a body that is no JSON object' : undefined;
}

function errorFault(body: string): string | undefined {
  const error = parsed(body)?.error;
  if (typeof error !== 'object' || error === null) return 'an error without an OData error object';
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code !== 'string' || !/^EE-\d{3}$/.test(code)) return `an error with the code ${String(code)}`;
  if (typeof message !== 'string' || message === '') return 'an error without a message';
  return /\b(?:select|from|where) .*\b(?:pulsefeed|from)\b|\bat .*\.ts:\d/i.test(message)
    ? `an error that tells its inside: ${message}`
    : undefined;
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function values(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}
