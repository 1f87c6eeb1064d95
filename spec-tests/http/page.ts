import { Violation } from '../rule.ts';
import type { Agent, Ask } from './agent.ts';
import { isObject, type Json, type JsonObject } from './exact-json.ts';
import { type Exchange, jsonOf, mediaType } from './exchange.ts';

/** One page of a collection, read with exact integers. */
export type Page = {
  exchange: Exchange;
  body: JsonObject;
  rows: JsonObject[];
  nextLink?: string;
  count?: bigint;
};

/** How to ask for a page. `maxPageSize` becomes a `Prefer: odata.maxpagesize` header. */
export type PageAsk = Ask & { maxPageSize?: number };

/**
 * Reads one page.
 * @throws Violation when the answer is not HTTP 200 with a JSON object that holds a `value` array.
 */
export async function readPage(http: Agent, target: string, ask: PageAsk = {}): Promise<Page> {
  const headers = { ...ask.headers };
  if (ask.maxPageSize !== undefined) headers.Prefer = `odata.maxpagesize=${ask.maxPageSize}`;
  const { maxPageSize: _size, ...rest } = ask;
  return pageOf(await http.send(target, { ...rest, headers }));
}

/** Reads an exchange as a page. @throws Violation as `readPage` does. */
export function pageOf(exchange: Exchange): Page {
  if (exchange.status !== 200) {
    throw new Violation(
      `HTTP ${exchange.status} came back where a collection was asked for`,
      'Answer 200 with a JSON collection.',
      [exchange],
    );
  }
  const body = jsonOf(exchange);
  if (!isObject(body)) {
    const kind =
      body === undefined ? `not JSON (${mediaType(exchange) || 'no content type'})` : 'not a JSON object';
    throw new Violation(`the body is ${kind}`, 'Answer with an OData JSON collection.', [exchange]);
  }
  const value = body.value;
  if (!Array.isArray(value)) {
    throw new Violation('the body has no `value` array', 'Put the rows of a collection into `value`.', [
      exchange,
    ]);
  }
  const page: Page = { exchange, body, rows: value.filter(isObject) };
  const nextLink = body['@odata.nextLink'] ?? body['@nextLink'];
  if (typeof nextLink === 'string' && nextLink !== '') page.nextLink = absolute(nextLink, exchange);
  const count = integerOf(body['@odata.count'] ?? body['@count']);
  if (count !== undefined) page.count = count;
  return page;
}

/** A link may be relative to the request that it came with. OData JSON Format 4.5.5. */
function absolute(link: string, exchange: Exchange): string {
  if (URL.canParse(link, exchange.url)) return new URL(link, exchange.url).href;
  throw new Violation(`the nextLink "${link}" is no address`, 'Give a URL as nextLink.', [exchange]);
}

/** An integer that may have been written as a string, as IEEE754Compatible=true does. */
export function integerOf(value: Json | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' && /^-?[0-9]{1,19}$/.test(value)) return BigInt(value);
  return undefined;
}

/**
 * Follows nextLink from a first page until none is left, `maxPages` are read, or a link comes back a second time.
 * The first page is part of the result.
 */
export async function followPages(
  http: Agent,
  first: Page,
  maxPages: number,
  ask: PageAsk = {},
): Promise<Page[]> {
  const pages = [first];
  const followed = new Set<string>();
  let last = first;
  while (last.nextLink !== undefined && pages.length < maxPages && !followed.has(last.nextLink)) {
    followed.add(last.nextLink);
    last = await readPage(http, last.nextLink, ask);
    pages.push(last);
  }
  return pages;
}
