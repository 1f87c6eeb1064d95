import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityPage } from '../edm/entity-set.ts';
import type { QueryOptions } from '../edm/index.ts';
import type { RequestPlan } from './plan.ts';
import { readQuery } from './query.ts';
import type { Service } from './service.ts';
import { invalidToken, type WalkToken } from './skip-token.ts';

/** The options of a request, and the token that it goes on with. */
export interface Resumed {
  readonly query: QueryOptions;
  readonly token: WalkToken | undefined;
}

/**
 * Reads the options of a collection request; those that a token carries for want of room in the URL count as given.
 * @throws EE-104 for a token that is not ours, EE-101 to EE-103 for the options.
 */
export function resumeQuery({ codec }: Pick<Service, 'codec'>, rawQuery: string): Resumed {
  const query = readQuery(rawQuery);
  const skip = query.system.get('skiptoken');
  const delta = query.system.get('deltatoken');
  if (skip !== undefined && delta !== undefined) throw invalidToken('delta');
  const token =
    skip !== undefined
      ? codec.open(skip.value, 'skip')
      : delta === undefined
        ? undefined
        : codec.open(delta.value, 'delta');
  if (token?.packed === undefined) return { query, token };
  return { query: readQuery([unpack(token.packed), rawQuery].join('&')), token };
}

/** The token of the next page, exactly when more is owed: rows match beyond this page and `$top` allows them. */
export function nextToken(plan: RequestPlan, page: EntityPage): WalkToken | undefined {
  const last = page.rows.at(-1);
  const remaining = plan.remaining === undefined ? undefined : plan.remaining - page.rows.length;
  if (!page.more || last === undefined || remaining === 0) return undefined;
  return {
    use: 'skip',
    query: plan.digest,
    after: last.position,
    ...(remaining === undefined ? {} : { remaining }),
    ...logState(plan, page),
    ...(plan.tracking === undefined ? {} : { tracking: plan.tracking }),
  };
}

/**
 * Where a tracked walk that has met the head goes on later: `gt head` in OData's dress (Protocol 11.3). When `$top`
 * ended the walk early it goes on behind the last row instead.
 */
export function deltaToken(plan: RequestPlan, page: EntityPage): WalkToken | undefined {
  if (plan.tracking === undefined || page.head === undefined) return undefined;
  const after = [scannedTo(plan, page).toString()];
  return { use: 'delta', query: plan.digest, after, ...logState({ token: undefined }, page) };
}

/** The epoch, and the head when the walk began: what tells a fresh walk from a stale reader. */
function logState(plan: Pick<RequestPlan, 'token'>, page: EntityPage): Pick<WalkToken, 'epoch' | 'head'> {
  if (page.epoch === undefined || page.head === undefined) return {};
  return { epoch: page.epoch, head: plan.token?.head ?? page.head.toString() };
}

/**
 * How far the log has been read. A page with more behind it was scanned to its last row, the last one to the head of
 * its snapshot; where nothing was read at all (`$top=0`) the scan stands where it stood.
 */
export function scannedTo(plan: RequestPlan, page: EntityPage): bigint {
  if (!page.more) return page.head ?? 0n;
  const last = page.rows.at(-1)?.position[0] ?? plan.page.after?.[0] ?? plan.since;
  return last == null ? 0n : BigInt(last);
}

/** Options of the first request that a link does not repeat; the position stands for them. */
const spent = { skip: ['skip'], delta: ['skip', 'top', 'count'] } as const;

/**
 * Writes a nextLink or deltaLink: the client's own options with the position. `$skip` was spent on the first page
 * (NOSKIP). Options too long for a URL, which came in a body, travel packed within the token.
 * @throws EE-106 when even that is longer than a URL may be.
 */
export function walkLink(
  { codec, maxLinkBytes }: Pick<Service, 'codec' | 'maxLinkBytes'>,
  collection: string,
  query: QueryOptions,
  token: WalkToken,
): string {
  const dropped: readonly string[] = ['skiptoken', 'deltatoken', ...spent[token.use]];
  const gone = new Set(dropped.map(name => query.system.get(name as 'skip')?.raw));
  const kept = query.all.filter(({ raw }) => !gone.has(raw));
  const options = kept.map(({ name, value }) => `${encode(name)}=${encode(value)}`);
  const link = (given: readonly string[], sealed: WalkToken) =>
    `${collection}?${[...given, `$${token.use}token=${codec.seal(sealed)}`].join('&')}`;
  const plain = link(options, token);
  if (plain.length <= maxLinkBytes / 2) return plain;
  const packed = link([], { ...token, packed: pack(options.join('&')) });
  if (packed.length > maxLinkBytes) {
    throw new PulsefeedError(
      'EE-106',
      'The result has several pages and the options are too long for the link to the next one.',
      { target: '$filter' },
    );
  }
  return packed;
}

/** Percent-encodes what a URL of OData's cannot hold as it is; a leading `$` or `@` is kept for those who read links. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27').replace(/^%24/, '$').replace(/^%40/, '@');
}

function pack(text: string): string {
  return deflateRawSync(text).toString('base64url');
}

/** Only signed tokens are unpacked, so that nobody can send us a bomb. */
function unpack(packed: string): string {
  return inflateRawSync(Buffer.from(packed, 'base64url')).toString('utf8');
}
