import { createHash } from 'node:crypto';
import { PulsefeedError } from '../base/errors.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';

/** A weak tag of a text: equal texts have equal tags. */
export function weakTag(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/**
 * Applies `If-None-Match` and `If-Match` of a read to its answer (Protocol 8.2.4, 8.2.5): 304 without a body when the
 * client has it already. An answer without ETag is left as it is.
 * @throws EE-116 when `If-Match` names another state.
 */
export function applyConditions(request: ODataRequest, answer: ODataAnswer): ODataAnswer {
  const { ETag: etag } = answer.headers;
  // What a change is conditional on was looked at before it was made.
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (etag === undefined || answer.status !== 200 || !reads) return answer;
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if (ifMatch !== undefined && !matchesTag(ifMatch, etag)) {
    throw new PulsefeedError('EE-116', 'The resource is not in the state that If-Match names.', {
      target: 'If-Match',
    });
  }
  if (ifNoneMatch === undefined || !matchesTag(ifNoneMatch, etag)) return answer;
  const kept = Object.entries(answer.headers).filter(([name]) => name !== 'Content-Type');
  return { ...answer, status: 304, headers: Object.fromEntries(kept), body: undefined };
}

/** Weak comparison (RFC 9110, 13.1.2); a header that is no list of tags matches nothing. */
export function matchesTag(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some(tag => opaque(tag) === opaque(etag));
}
