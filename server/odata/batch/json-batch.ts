import { PulsefeedError } from '../../base/errors.ts';
import { arraySlices, objectSlices } from '../../edm/index.ts';
import type { Batch, BatchMember, MemberAnswer } from './member.ts';

/** Reads a batch in JSON (JSON Format 19.1). @throws EE-114 for a body that is no batch. */
export function parseJsonBatch(body: string): Batch {
  const parsed = parseObject(body);
  const requests = parsed?.requests;
  if (!Array.isArray(requests))
    throw invalid('The body is not an object with the array requests.', 'requests');
  const slices = arraySlices(objectSlices(body).get('requests') ?? '[]');
  const members = requests.map((request, index) =>
    parseMember(request as unknown, slices[index] ?? '{}', `requests/${index}`),
  );
  return { format: 'json', members };
}

function parseMember(request: unknown, raw: string, target: string): BatchMember {
  if (!isObject(request)) throw invalid('A request is an object.', target);
  const { id, method, url, atomicityGroup, dependsOn, headers, body } = request;
  if (!isText(id) || id === '') throw invalid('A request needs its id as text.', `${target}/id`);
  if (!isText(method)) throw invalid('A request needs its method.', `${target}/method`);
  if (!isText(url)) throw invalid('A request needs its url.', `${target}/url`);
  if (atomicityGroup !== undefined && (!isText(atomicityGroup) || atomicityGroup === '')) {
    throw invalid('The atomicityGroup is a text.', `${target}/atomicityGroup`);
  }
  if (dependsOn !== undefined && !(Array.isArray(dependsOn) && dependsOn.every(isText))) {
    throw invalid('dependsOn is an array of ids.', `${target}/dependsOn`);
  }
  const type = textHeaders(headers, `${target}/headers`);
  return {
    id,
    method: method.toUpperCase(),
    url,
    headers: type,
    body: body === undefined || body === null ? undefined : bodyText(body, raw, type['content-type']),
    dependsOn: dependsOn ?? [],
    group: atomicityGroup,
    condition: request.if !== undefined,
  };
}

function textHeaders(headers: unknown, target: string): Record<string, string> {
  if (headers === undefined || headers === null) return {};
  if (!isObject(headers)) throw invalid('The headers are an object.', target);
  const entries = Object.entries(headers).map(([name, value]): [string, string] => {
    // Some clients write numbers and booleans bare.
    if (typeof value === 'number' || typeof value === 'boolean') return [name.toLowerCase(), String(value)];
    if (!isText(value)) throw invalid('The value of a header is a text.', `${target}/${name}`);
    return [name.toLowerCase(), value];
  });
  return Object.fromEntries(entries);
}

/** JSON stays the client's own text; what is not JSON comes as a string. */
function bodyText(body: unknown, raw: string, type: string | undefined): string {
  const json = type === undefined || /^[^;]*\bjson\b/i.test(type);
  if (typeof body === 'string' && !json) return body;
  return objectSlices(raw).get('body') ?? '';
}

/** Writes the answers (JSON Format 19.2): a JSON body stands as it is, text as a string, anything else as base64url. */
export function writeJsonBatch(answers: readonly MemberAnswer[]): { contentType: string; body: string } {
  const responses = answers.map(({ id, group, status, headers, body }) => {
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const members = [
      `"id":${JSON.stringify(id ?? '')}`,
      ...(group === undefined ? [] : [`"atomicityGroup":${JSON.stringify(group)}`]),
      `"status":${status}`,
      `"headers":${JSON.stringify(lower)}`,
      ...(body === undefined ? [] : [`"body":${writtenBody(body, lower['content-type'])}`]),
    ];
    return `{${members.join(',')}}`;
  });
  return { contentType: 'application/json', body: `{"responses":[${responses.join(',')}]}` };
}

function writtenBody(body: string, type = ''): string {
  if (/^application\/(?:[\w.+-]+\+)?json\b/.test(type)) return body;
  return JSON.stringify(type.startsWith('text/') ? body : Buffer.from(body).toString('base64url'));
}

function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) ? parsed : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PulsefeedError('EE-114', 'The body is not valid JSON.', { target: 'body', cause: error });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text without half a surrogate pair, which neither a link nor the database can hold. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !/\p{Cs}/u.test(value);
}

function invalid(message: string, target: string): PulsefeedError {
  return new PulsefeedError('EE-114', message, { target });
}
