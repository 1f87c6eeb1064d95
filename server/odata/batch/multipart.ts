import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { PulsefeedError } from '../../base/errors.ts';
import type { Batch, BatchMember, MemberAnswer } from './member.ts';

/**
 * Reads a batch in multipart/mixed (Protocol 11.7.7), as real clients write it: lines may end in LF alone, blank
 * lines may be missing or too many, part headers may be missing, text around the parts is passed over.
 * @throws EE-114 for a body that is no such batch.
 */
export function parseMultipartBatch(body: string, contentType: string, maxMembers: number): Batch {
  const members: BatchMember[] = [];
  const parts = splitParts(body, boundaryOf(contentType), maxMembers);
  parts.forEach((part, index) => {
    const { headers, rest } = readHeaders(part);
    const type = headers['content-type'] ?? 'application/http';
    if (!/^\s*multipart\/mixed\b/i.test(type)) {
      members.push(readRequest(rest, headers, type, undefined));
      return;
    }
    const group = `changeset-${index}`;
    for (const inner of splitParts(rest, boundaryOf(type), maxMembers)) {
      const own = readHeaders(inner);
      members.push(
        readRequest(own.rest, own.headers, own.headers['content-type'] ?? 'application/http', group),
      );
    }
  });
  return { format: 'multipart', members };
}

function boundaryOf(contentType: string): string {
  const match = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]+))/i.exec(contentType);
  const boundary = match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2] ?? '';
  if (boundary === '' || boundary.length > 200)
    throw invalid('multipart/mixed needs its boundary.', 'Content-Type');
  return boundary;
}

/** The texts between the delimiter lines; the line end before a delimiter belongs to the delimiter. */
function splitParts(body: string, boundary: string, most: number): string[] {
  const delimiter = `--${boundary}`;
  const parts: string[] = [];
  let start: number | undefined;
  let found = 0;
  for (let at = nextDelimiter(body, delimiter, 0); at >= 0; at = nextDelimiter(body, delimiter, at + 1)) {
    found += 1;
    if (start !== undefined) parts.push(body.slice(start, at).replace(/\r?\n$/, ''));
    if (parts.length > most) throw tooMany(most);
    if (body.startsWith('--', at + delimiter.length)) return parts;
    const lineEnd = body.indexOf('\n', at);
    if (lineEnd < 0) break;
    start = lineEnd + 1;
  }
  // A last part whose closing delimiter is missing may have been cut off on the way.
  throw invalid(
    found === 0
      ? 'The body has no part with the boundary of its Content-Type.'
      : 'The closing boundary is missing.',
    'body',
  );
}

function nextDelimiter(body: string, delimiter: string, from: number): number {
  for (let at = body.indexOf(delimiter, from); at >= 0; at = body.indexOf(delimiter, at + 1)) {
    const after = body.slice(at + delimiter.length, at + delimiter.length + 2);
    const lineStart = at === 0 || body[at - 1] === '\n';
    if (lineStart && (after === '' || /^(?:--|\r\n|\n|[ \t])/.test(after))) return at;
  }
  return -1;
}

/** Header lines up to the first empty line; blank lines before them are passed over. */
function readHeaders(text: string): { headers: Record<string, string>; rest: string } {
  const headers: Record<string, string> = {};
  let pos = /^(?:[ \t]*\r?\n)*/.exec(text)?.[0].length ?? 0;
  while (pos < text.length) {
    const end = text.indexOf('\n', pos);
    const line = text.slice(pos, end < 0 ? text.length : end).replace(/\r$/, '');
    const match = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/.exec(line);
    // A line that is no header begins the content, where the blank line between them was forgotten.
    if (match === null) {
      if (line.trim() === '') pos = end < 0 ? text.length : end + 1;
      break;
    }
    headers[(match[1] ?? '').toLowerCase()] = (match[2] ?? '').trim();
    pos = end < 0 ? text.length : end + 1;
  }
  return { headers, rest: text.slice(pos) };
}

function readRequest(
  text: string,
  partHeaders: Readonly<Record<string, string>>,
  type: string,
  group: string | undefined,
): BatchMember {
  if (!/^\s*application\/http\b/i.test(type)) {
    throw invalid('A part is application/http, or multipart/mixed for a change set.', 'body');
  }
  const trimmed = text.replace(/^(?:[ \t]*\r?\n)+/, '');
  const lineEnd = trimmed.indexOf('\n');
  const line = (lineEnd < 0 ? trimmed : trimmed.slice(0, lineEnd)).trim();
  const match = /^([A-Za-z]+)[ \t]+(\S.*)$/.exec(line);
  if (match === null) throw invalid('A part has no request line.', 'body');
  const { headers, rest } = readOwnHeaders(lineEnd < 0 ? '' : trimmed.slice(lineEnd + 1));
  return {
    id: partHeaders['content-id'] ?? headers['content-id'],
    method: (match[1] ?? '').toUpperCase(),
    url: withoutHttpVersion(match[2] ?? ''),
    headers,
    body: rest.trim() === '' ? undefined : rest,
    dependsOn: [],
    group,
    condition: false,
  };
}

/** Spaces that a client forgot to encode belong to the URL; the version of HTTP does not. */
function withoutHttpVersion(text: string): string {
  const space = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\t'));
  return /^HTTP\/\d(?:\.\d)?$/i.test(text.slice(space + 1))
    ? text.slice(0, Math.max(space, 0)).trimEnd()
    : text;
}

/** The headers of the request itself begin right behind its first line: a blank line there ends them. */
function readOwnHeaders(text: string): { headers: Record<string, string>; rest: string } {
  const blank = /^[ \t]*\r?\n/.exec(text);
  return blank === null ? readHeaders(text) : { headers: {}, rest: text.slice(blank[0].length) };
}

/** Writes the answers as parts, those of a change set as one part of their own (Protocol 11.7.7.3). */
export function writeMultipartBatch(answers: readonly MemberAnswer[]): { contentType: string; body: string } {
  const boundary = `batch_${randomUUID()}`;
  const parts: string[] = [];
  for (let index = 0; index < answers.length; index += 1) {
    const { group } = answers[index] ?? {};
    if (group === undefined) {
      parts.push(...answers.slice(index, index + 1).map(part));
      continue;
    }
    let end = index;
    while (answers[end]?.group === group) end += 1;
    const members = answers.slice(index, end);
    const failed = members.find(({ status }) => status >= 400 && status !== 424);
    parts.push(failed === undefined ? changeSet(members) : part({ ...failed, id: undefined }));
    index = end - 1;
  }
  return { contentType: `multipart/mixed;boundary=${boundary}`, body: joined(parts, boundary) };
}

function changeSet(members: readonly MemberAnswer[]): string {
  const boundary = `changeset_${randomUUID()}`;
  return `Content-Type: multipart/mixed;boundary=${boundary}\r\n\r\n${joined(members.map(part), boundary)}`;
}

function joined(parts: readonly string[], boundary: string): string {
  return `${parts.map(text => `--${boundary}\r\n${text}\r\n`).join('')}--${boundary}--\r\n`;
}

function part({ id, status, headers, body }: MemberAnswer): string {
  const lines = [
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    ...(id === undefined ? [] : [`Content-ID: ${id.replace(/[\r\n]+/g, ' ')}`]),
    '',
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    body ?? '',
  ];
  return lines.join('\r\n');
}

/** @throws EE-106 always. */
export function tooMany(most: number): PulsefeedError {
  return new PulsefeedError('EE-106', `A batch may hold ${most} requests at most.`, { target: 'body' });
}

function invalid(message: string, target: string): PulsefeedError {
  return new PulsefeedError('EE-114', message, { target });
}
