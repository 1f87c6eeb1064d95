import { isObject, type Json, type JsonObject, parseExactJson, writeExactJson } from '../http/exact-json.ts';
import { keyNames } from './breakable-data.ts';
import { model } from './breakable-metadata.ts';
import { BadFilter, type Predicate, readFilter } from './filter-language.ts';
import type { IsOn } from './switches.ts';

/** A request that is refused, with the status to answer. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What stands in a query string or a token. */
export type Query = {
  filter?: string;
  select?: string;
  orderby?: string;
  expand?: string;
  top?: number;
  skip?: number;
  count: boolean;
  /** Key of the row after which to go on. */
  after?: Json;
  /** Rows served so far by earlier pages. */
  served: number;
  size?: number;
};

/** One page of rows, ready to be written. */
export type Answer = { rows: JsonObject[]; count?: number; next?: Query };

const known = ['filter', 'select', 'orderby', 'expand', 'top', 'skip', 'count', 'skiptoken', 'format'];
const cap = 20;

/** Reads the query options of a URL. @throws Refused when they are wrong. */
export function readQuery(search: string, on: IsOn): Query {
  const options = new Map<string, string>();
  for (const pair of search.replace(/^\?/, '').split('&').filter(Boolean)) {
    const at = pair.indexOf('=');
    const written = pair.slice(0, at < 0 ? undefined : at);
    const name = on('encoded-names-ignored') ? written : decodeURIComponent(written);
    if (!name.startsWith('$') && on('dollarless-ignored')) continue;
    const bare = name.replace(/^\$/, '');
    if (!known.includes(bare)) {
      if (name.startsWith('$') && !on('unknown-option-ignored'))
        throw new Refused(400, `unknown option ${name}`);
      continue;
    }
    if (options.has(bare) && !on('repeated-option-accepted')) throw new Refused(400, `${name} comes twice`);
    options.set(bare, at < 0 ? '' : decodeURIComponent(pair.slice(at + 1)));
  }
  const token = options.get('skiptoken');
  if (token !== undefined) return readToken(token, on);
  const query: Query = { count: options.get('count') === 'true', served: 0 };
  for (const name of ['filter', 'select', 'orderby', 'expand'] as const) {
    const value = options.get(name);
    if (value !== undefined) query[name] = value;
  }
  for (const name of ['top', 'skip'] as const) {
    const value = options.get(name);
    if (value === undefined) continue;
    if (!/^\d+$/.test(value)) throw new Refused(on('invalid-top-500') ? 500 : 400, `$${name} is wrong`);
    query[name] = Number(value);
  }
  return query;
}

function readToken(token: string, on: IsOn): Query {
  try {
    const read = parseExactJson(Buffer.from(token, 'base64url').toString('utf8'));
    if (!isObject(read)) throw new SyntaxError('no object');
    const plain = Object.fromEntries(
      Object.entries(read).map(([name, value]) => [
        name,
        name !== 'after' && typeof value === 'bigint' ? Number(value) : value,
      ]),
    );
    return plain as unknown as Query;
  } catch {
    throw new Refused(on('skiptoken-500') ? 500 : 400, 'the token is not ours');
  }
}

/** The continuation token of a query. */
export function tokenOf(query: Query): string {
  const plain: JsonObject = {};
  for (const [name, value] of Object.entries(query)) {
    plain[name] = typeof value === 'number' ? BigInt(value) : (value as Json);
  }
  return Buffer.from(writeExactJson(plain)).toString('base64url');
}

/** Applies a query to all rows of a set. @throws Refused when the query is wrong. */
export function applyQuery(
  set: string,
  all: readonly JsonObject[],
  query: Query,
  preferred: number | undefined,
  on: IsOn,
): Answer {
  const keyName = set === 'EntityEvent' ? 'EntityEventSequence' : (keyNames[set] ?? '');
  const isLog = set === 'EntityEvent';
  let rows = sorted(filtered(set, all, query, on), query, keyName, on);
  if (on('no-match-404') && rows.length === 0 && /^EntityEventSequence gt \d{19}$/.test(query.filter ?? ''))
    throw new Refused(404, 'nothing found');
  if (isLog && on('ge-0-starts-late') && query.filter === 'EntityEventSequence ge 0') rows = rows.slice(5);
  if (isLog && on('pages-out-of-order') && query.orderby === undefined && rows.length > 3 * cap) {
    rows = [
      ...rows.slice(0, cap),
      ...rows.slice(2 * cap, 3 * cap),
      ...rows.slice(cap, 2 * cap),
      ...rows.slice(3 * cap),
    ];
  }
  const answer: Answer = { rows: [] };
  if (query.count) answer.count = rows.length + (on('count-wrong') && query.filter !== undefined ? 1 : 0);
  if (on('count-missing') && query.top === 0) delete answer.count;
  const rest = remaining(set, rows, query, keyName, on);
  const asked = on('maxpagesize-ignored') ? undefined : preferred;
  const size = Math.min(cap, asked ?? query.size ?? cap);
  const budget =
    query.top === undefined
      ? Number.POSITIVE_INFINITY
      : topOf(query.top, on) - (on('top-per-page') ? 0 : query.served);
  answer.rows = rest.slice(0, Math.max(0, Math.min(size, budget)));
  const isPartial = rest.length > answer.rows.length && budget > answer.rows.length && answer.rows.length > 0;
  const next = nextOf(set, rows, answer.rows, query, keyName, isPartial, on);
  if (next !== undefined) answer.next = { ...next, size };
  if (isLog && on('unsorted') && query.orderby === undefined) answer.rows = [...answer.rows].reverse();
  return answer;
}

function topOf(top: number, on: IsOn): number {
  if (top === 0) return on('top-zero-returns-row') ? 1 : 0;
  return top + (on('top-off-by-one') && top === 3 ? 1 : 0);
}

function filtered(set: string, all: readonly JsonObject[], query: Query, on: IsOn): JsonObject[] {
  if (query.filter === undefined) return [...all];
  const plain = /^EntityEventSequence gt (\d+)$/.exec(query.filter)?.[1];
  if (set === 'EntityEvent' && plain !== undefined) {
    const from = BigInt(plain);
    const numbers = all.map(row => row.EntityEventSequence as bigint);
    if (on('gap-returns-empty') && !numbers.includes(from) && from > (numbers[0] ?? 0n)) return [];
    if (on('gt-includes-equal')) return all.filter(row => (row.EntityEventSequence as bigint) >= from);
  }
  const equal = /^EntityEventSequence eq (\d+)$/.exec(query.filter)?.[1];
  if (equal !== undefined && on('int64-rounded-in-filter')) {
    return all.filter(row => Number(row.EntityEventSequence) === Number(equal));
  }
  let predicate: Predicate;
  try {
    predicate = readFilter(query.filter, new Set(Object.keys(model[set] ?? {})), on);
  } catch (error) {
    if (!(error instanceof BadFilter)) throw error;
    throw new Refused(on('bad-filter-500') && /BadField/.test(query.filter) ? 500 : 400, error.message);
  }
  return all.filter(row => predicate(row) === true);
}

function sorted(rows: JsonObject[], query: Query, keyName: string, on: IsOn): JsonObject[] {
  const [name = keyName, direction] = (query.orderby ?? keyName).trim().split(/\s+/);
  const sign = direction === 'desc' && !on('orderby-ignored') ? -1 : 1;
  return rows.sort((a, b) => sign * order(a[name], b[name]) || order(a[keyName], b[keyName]));
}

function order(a: Json | undefined, b: Json | undefined): number {
  if (a === b) return 0;
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

/** What is left of a set behind the rows that earlier pages served. */
function remaining(set: string, rows: JsonObject[], query: Query, keyName: string, on: IsOn): JsonObject[] {
  if (query.after === undefined) return rows.slice(on('skip-ignored') ? 0 : (query.skip ?? 0));
  const at = rows.findIndex(row => row[keyName] === query.after);
  if (at < 0) return rows.filter(row => order(row[keyName], query.after) > 0);
  const repeats = on('repeat-at-page-border') && set === 'EntityEvent' && query.filter !== undefined;
  return rows.slice(repeats ? at : at + 1);
}

function nextOf(
  set: string,
  rows: readonly JsonObject[],
  page: readonly JsonObject[],
  query: Query,
  keyName: string,
  isPartial: boolean,
  on: IsOn,
): Query | undefined {
  const isLog = set === 'EntityEvent';
  const isWalk = isLog && query.filter === 'EntityEventSequence gt 0';
  const last = page.at(-1);
  if (last === undefined) return undefined;
  const next: Query = { ...query, after: last[keyName] ?? null, served: query.served + page.length };
  if (isLog && on('nextlink-on-top-1') && query.top === 1) return { ...next, top: 2 };
  if (!isPartial) {
    if (on('endless-nextlink') && isWalk) return { ...query };
    return on('last-page-has-nextlink') && / lt /.test(query.filter ?? '') ? next : undefined;
  }
  if (isLog && query.top === undefined) {
    if (on('nextlink-missing') && query.filter !== undefined) return undefined;
    if (on('nextlink-missing-unfiltered') && query.filter === undefined) return undefined;
    if (on('nextlink-stops-early') && isWalk && query.served > 0) return undefined;
  }
  if (isLog && on('paging-wraps') && query.filter === undefined && next.served >= 8) {
    return { ...next, served: 0, after: rows[0]?.[keyName] ?? null };
  }
  const drops =
    (on('nextlink-drops-filter') && /ResourceName/.test(query.filter ?? '')) ||
    (on('nextlink-drops-timestamp') && /ModificationTimestamp/.test(query.filter ?? ''));
  if (drops) return { count: query.count, served: 0, after: keyName === 'ListingKey' ? '' : 0n };
  return next;
}
