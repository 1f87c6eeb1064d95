import type { IncomingMessage } from 'node:http';
import { isObject, type Json, type JsonObject, parseExactJson } from '../http/exact-json.ts';
import { keyNames, type Store } from './breakable-data.ts';
import type { LogView } from './breakable-log.ts';
import { metadataXml, model } from './breakable-metadata.ts';
import type { Push } from './breakable-push.ts';
import { applyQuery, type Query, Refused, readQuery, tokenOf } from './breakable-query.ts';
import type { Writes } from './breakable-writes.ts';
import type { IsOn } from './switches.ts';

/** The token that the test server accepts. */
export const token = 'token-of-the-breakable-server';
/** The secret for which its token endpoint gives that token. */
export const clientSecret = 'secret-of-the-client';

/** What is answered. */
export type Reply = {
  status: number;
  headers?: Record<string, string>;
  body?: string | Json;
  bare?: boolean;
};

/** The parts of a running test server. */
export type Site = {
  store: Store;
  view: LogView;
  writes: Writes;
  push: Push;
  on: IsOn;
  auth: boolean;
  base: () => string;
};

/** A request, read to its end. */
export type Asked = {
  method: string;
  path: string;
  search: string;
  headers: IncomingMessage['headers'];
  body: string;
};

/** Answers a request; refusals become error replies. */
export function answerSafely(site: Site, asked: Asked): Reply {
  try {
    return answer(site, asked);
  } catch (error) {
    if (error instanceof Refused) return refusal(error.status, error.message);
    if (error instanceof URIError || error instanceof SyntaxError) return refusal(400, 'malformed');
    throw error;
  }
}

function refusal(status: number, message: string): Reply {
  return { status, body: { error: { code: `E${status}`, message } } };
}

function answer(site: Site, asked: Asked): Reply {
  const { on } = site;
  if (asked.path === '/token') return tokenReply(site, asked);
  const path = asked.path.replace(/^\/odata\/?/, '');
  if (site.auth && asked.headers.authorization !== `Bearer ${token}` && !on('auth-not-checked')) {
    return refusal(401, 'a token is needed');
  }
  const version = String(asked.headers['odata-version'] ?? '4.0');
  if (version !== '4.0' && version !== '4.01' && !on('newer-version-accepted'))
    return refusal(400, 'unknown version');
  if (path === '') return serviceDocument(site);
  if (path === '$metadata') return metadata(site, asked);
  const accept = String(asked.headers.accept ?? '*/*');
  if (/atom/.test(accept) && !on('format-ignored')) return refusal(406, 'JSON only');
  return resourceReply(site, asked, path);
}

function tokenReply(site: Site, asked: Asked): Reply {
  const form = new URLSearchParams(asked.body);
  if (form.get('client_secret') !== clientSecret) return refusal(401, 'wrong client');
  const type: JsonObject = site.on('token-without-type') ? {} : { token_type: 'Bearer' };
  return { status: 200, body: { access_token: token, expires_in: 3600n, ...type } };
}

function serviceDocument(site: Site): Reply {
  if (site.on('service-document-missing')) return refusal(404, 'nothing here');
  const value = Object.keys(model).map(name => ({ name, kind: 'EntitySet', url: name }));
  return { status: 200, body: { '@odata.context': `${site.base()}/$metadata`, value } };
}

function metadata(site: Site, asked: Asked): Reply {
  if (site.on('metadata-format-refused') && /format/.test(asked.search)) return refusal(400, 'no $format');
  const type = site.on('metadata-as-text') ? 'text/plain' : 'application/xml';
  const reply = { status: 200, headers: { 'Content-Type': type }, body: metadataXml(site.on) };
  return site.on('odata-version-missing') ? { ...reply, bare: true } : reply;
}

function resourceReply(site: Site, asked: Asked, path: string): Reply {
  const { on } = site;
  const match = /^(\w+)(?:\((.*?)\))?(?:\/([\w$]+))?$/.exec(path);
  const set = match?.[1] ?? '';
  const key = match?.[2];
  const rest = match?.[3];
  if (set === 'EntityEventCredential' || set === 'EntityEventSubscription')
    return pushReply(site, asked, set, key, rest);
  if (set === 'Broken') return refusal(500, 'broken');
  if (match === null || model[set] === undefined || (set === 'EntityEvent' && on('entity-event-missing'))) {
    const empty = { '@odata.context': `${site.base()}/$metadata#${set}`, value: [] };
    return on('unknown-resource-200') && set !== 'EntityEvent'
      ? { status: 200, body: empty }
      : refusal(404, `no ${set}`);
  }
  if (set === 'EntityEvent') return logReply(site, asked, key, rest);
  const keyText = key === undefined ? undefined : unquote(site, key);
  if (asked.method !== 'GET') return writeRecord(site, asked, set, keyText);
  if (keyText === undefined) return listReply(site, asked, set, allOf(site, set));
  return recordReply(site, set, keyText, rest);
}

function logReply(site: Site, asked: Asked, key: string | undefined, rest: string | undefined): Reply {
  const { on } = site;
  if (asked.method !== 'GET') {
    if (asked.method === 'POST' && on('post-accepted')) return { status: 201, body: {} };
    if (asked.method === 'DELETE' && on('delete-event-accepted')) return { status: 204 };
    return { ...refusal(405, 'the log is read-only'), headers: { Allow: 'GET, HEAD' } };
  }
  if (rest === '$count') {
    const count = site.view.rows().length;
    if (on('count-path-as-json')) return { status: 200, body: { count: BigInt(count) } };
    return { status: 200, headers: { 'Content-Type': 'text/plain' }, body: String(count) };
  }
  if (key === undefined) return listReply(site, asked, 'EntityEvent', site.view.rows());
  const isQuoted = /^'\d+'$/.test(key);
  const digits = key.replaceAll("'", '');
  if (!/^\d{1,19}$/.test(digits) || (isQuoted && on('quoted-sequence-refused')))
    return refusal(400, 'wrong key');
  const row = !isQuoted && on('event-by-number-404') ? undefined : site.view.find(BigInt(digits));
  if (row === undefined) return refusal(404, 'no such event');
  return { status: 200, body: { '@odata.context': `${site.base()}/$metadata#EntityEvent/$entity`, ...row } };
}

function allOf(site: Site, set: string): JsonObject[] {
  return [...(site.store.records.get(set)?.values() ?? [])];
}

function unquote(site: Site, key: string): string {
  const text = decodeURIComponent(key);
  if (!/^'.*'$/s.test(text)) throw new Refused(400, 'the key must be in quotes');
  const inner = text.slice(1, -1);
  return site.on('key-quoting-broken') ? inner : inner.replaceAll("''", "'");
}

function recordReply(site: Site, set: string, key: string, rest: string | undefined): Reply {
  const { on, store, writes } = site;
  const context = `${site.base()}/$metadata#${set}/$entity`;
  let record = store.records.get(set)?.get(key);
  if (on('stale-read-after-event') && record !== undefined)
    record = writes.old.get(`${set}/${key}`) ?? record;
  if (on('deleted-record-served')) record ??= writes.old.get(`deleted ${set}/${key}`);
  if (record === undefined && on('hidden-record-200'))
    return { status: 200, body: { '@odata.context': context, value: [] } };
  if (record === undefined) return refusal(on('hidden-record-403') ? 403 : 404, 'no such record');
  if (rest === 'Media' && !on('navigation-path-404')) {
    return {
      status: 200,
      body: { '@odata.context': `${site.base()}/$metadata#Media`, value: photosOf(site, set, key) },
    };
  }
  if (rest !== undefined) return refusal(404, 'no such path');
  if (on('record-in-value') && !/\W/.test(key))
    return { status: 200, body: { '@odata.context': context, value: [record] } };
  return { status: 200, body: { '@odata.context': context, ...record } };
}

function photosOf(site: Site, set: string, key: string): JsonObject[] {
  return allOf(site, 'Media').filter(photo => photo.ResourceName === set && photo.ResourceRecordKey === key);
}

function listReply(site: Site, asked: Asked, set: string, all: JsonObject[]): Reply {
  const { on } = site;
  const query = readQuery(asked.search, on);
  const prefer = /maxpagesize=(\d+)/.exec(String(asked.headers.prefer ?? ''))?.[1];
  const isGapPage =
    on('empty-page-with-nextlink') && set === 'EntityEvent' && query.filter === 'EntityEventSequence gt 0';
  const body: JsonObject = {};
  if (!(on('no-context') && set === 'EntityEvent'))
    body['@odata.context'] = `${site.base()}/$metadata#${set}`;
  if (isGapPage && query.served > 0 && query.skip === undefined) {
    const { served: _served, ...rest } = query;
    body.value = [];
    body['@odata.nextLink'] = `${site.base()}/${set}?$skiptoken=${tokenOf({ ...rest, skip: 0, served: 1 })}`;
    return { status: 200, body };
  }
  const result = applyQuery(set, all, query, prefer === undefined ? undefined : Number(prefer), on);
  if (set === 'EntityEvent') site.view.served(result.rows, query.orderby !== undefined);
  if (result.count !== undefined) body['@odata.count'] = BigInt(result.count);
  body.value = result.rows.map(row => shaped(site, set, row, query));
  if (result.next !== undefined) body['@odata.nextLink'] = linkOf(site, set, result.next);
  return { status: 200, body };
}

function shaped(site: Site, set: string, row: JsonObject, query: Query): JsonObject {
  const names = query.select?.split(',').map(name => name.trim());
  if (names?.some(name => model[set]?.[name] === undefined))
    throw new Refused(400, 'unknown field in $select');
  const chosen =
    names === undefined || site.on('select-ignored')
      ? row
      : Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)));
  if (query.expand !== 'Media' || site.on('expand-ignored')) return chosen;
  return { ...chosen, Media: photosOf(site, set, String(row[keyNames[set] ?? ''])) };
}

function linkOf(site: Site, set: string, next: Query): string {
  const base = site.on('nextlink-other-origin') ? site.base().replace('127.0.0.1', 'localhost') : site.base();
  if (!site.on('nextlink-with-skip')) return `${base}/${set}?$skiptoken=${tokenOf(next)}`;
  const parts = [`$skip=${(next.skip ?? 0) + next.served}`];
  if (next.filter !== undefined) parts.push(`$filter=${encodeURIComponent(next.filter)}`);
  if (next.orderby !== undefined) parts.push(`$orderby=${encodeURIComponent(next.orderby)}`);
  if (next.top !== undefined) parts.push(`$top=${next.top - next.served}`);
  return `${base}/${set}?${parts.join('&')}`;
}

function writeRecord(site: Site, asked: Asked, set: string, key: string | undefined): Reply {
  const body = asked.body === '' ? {} : parseExactJson(asked.body);
  const fields = isObject(body) ? { ...body } : {};
  if (asked.method === 'POST' && key === undefined) {
    const given = fields[keyNames[set] ?? ''];
    if (typeof given !== 'string') return refusal(400, 'a key is needed');
    site.writes.create(set, fields);
    const location = `${site.base()}/${set}('${encodeURIComponent(given)}')`;
    return { status: 201, headers: { Location: location, 'OData-EntityId': location }, body: fields };
  }
  if (key === undefined || site.store.records.get(set)?.has(key) !== true)
    return refusal(404, 'no such record');
  if (asked.method === 'DELETE') site.writes.remove(set, key);
  else site.writes.update(set, key, fields);
  return { status: 204 };
}

function pushReply(
  site: Site,
  asked: Asked,
  set: string,
  key: string | undefined,
  rest: string | undefined,
): Reply {
  const { push, on } = site;
  const body = asked.body === '' ? {} : parseExactJson(asked.body);
  const fields = isObject(body) ? body : {};
  const id = key === undefined ? undefined : unquote(site, key);
  if (asked.method === 'POST' && id !== undefined && rest === 'Resume') {
    if (on('resume-missing')) return refusal(404, 'no such action');
    return push.resume(id) ? { status: 204 } : refusal(404, 'no such subscription');
  }
  if (asked.method === 'DELETE') {
    if (id !== undefined) push.remove(id);
    return { status: 204 };
  }
  if (asked.method !== 'POST') return refusal(405, 'write only');
  const made =
    set === 'EntityEventCredential' ? push.addCredential(String(fields.Token)) : push.subscribe(fields);
  if (made === undefined) return refusal(400, 'CallbackUrl and CallbackCredentialId are needed');
  const location = `${site.base()}/${set}('${made}')`;
  const headers: Record<string, string> = on('subscription-without-location')
    ? { 'OData-EntityId': location }
    : { Location: location, 'OData-EntityId': location };
  return { status: 201, headers, body: { EntityId: made } };
}
