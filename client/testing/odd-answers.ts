import { isJsonObject, type JsonObject, type JsonValue } from '../exact-json.ts';
import type { Pulse } from '../page.ts';
import { KEY_FIELDS, METADATA, type OddSource } from './odd-source.ts';
import type { OddSwitches } from './odd-switches.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What the odd server would say before anything goes wrong on the way. */
export interface OddAnswer {
  readonly status: number;
  readonly body: JsonObject | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Told to hold the answer until something happens (`Prefer: wait`). */
  readonly hold?: boolean;
}

/** What the answers are made from. */
export interface OddWorld {
  readonly source: OddSource;
  readonly switches: OddSwitches;
  readonly random: SeededRandom;
  readonly root: string;
  readonly state: { lastPage: { answer: OddAnswer; after: bigint } | undefined; pagesServed: number };
}

/** An OData error. */
export function oddError(status: number, message: string): OddAnswer {
  return { status, body: { error: { code: String(status), message } } };
}

/** Answers one request for `path` (without the service root, not yet decoded) and its query. */
export function oddAnswer(world: OddWorld, path: string, query: URLSearchParams, prefer: string): OddAnswer {
  if (path === '$metadata')
    return { status: 200, body: METADATA, headers: { 'content-type': 'application/xml' } };
  const [, name = '', literal] = /^([^(]*)(?:\((.*)\))?$/s.exec(path) ?? [];
  if (name === 'EntityEvent') return answerEvents(world, query, prefer);
  if (!(name in KEY_FIELDS) || name === world.switches.lostResource) return oddError(404, 'No such resource');
  return literal === undefined ? answerCollection(world, name, query) : answerRecord(world, name, literal);
}

function answerRecord({ source, switches }: OddWorld, resource: string, encoded: string): OddAnswer {
  if (switches.pathStatus)
    return { status: switches.pathStatus, body: '<html>No such page</html>', headers: HTML };
  if (switches.slashes === 'service-404' && /%2f/i.test(encoded)) return oddError(404, 'No such path');
  if (switches.slashes === 'proxy-404' && /%2f/i.test(encoded))
    return { status: 404, body: '<html>Not Found</html>', headers: HTML };
  const key = readLiteral(decodeURIComponent(encoded));
  const record = key === undefined ? undefined : source.records.get(resource)?.get(key);
  if (!record) return oddError(404, 'No record found');
  return {
    status: 200,
    body: { '@odata.context': `$metadata#${resource}/$entity`, '@odata.etag': 'W/"x"', ...record },
  };
}

function answerCollection(world: OddWorld, resource: string, query: URLSearchParams): OddAnswer {
  const { source, switches, random } = world;
  const records = source.records.get(resource) ?? new Map<string, JsonObject>();
  const filter = query.get('$filter');
  if (filter === null) return answerListing(world, resource, query);
  const keys = readKeyFilter(KEY_FIELDS[resource] ?? '', filter);
  if (!keys) return oddError(400, 'Cannot read $filter');
  if (/ in \(/.test(filter) && switches.inStatus) return oddError(switches.inStatus, '"in" is not supported');
  if (keys.length > 1 && / or /.test(filter) && switches.orStatus)
    return oddError(switches.orStatus, '"or" is not supported');
  if (/ eq /.test(filter) && keys.length > switches.maxOr)
    return oddError(400, `No more than ${switches.maxOr} conditions`);
  const found = keys.flatMap(key => records.get(key) ?? []);
  const several = keys.length > 1;
  const kept = several ? found.filter(() => random() >= switches.omit).slice(0, switches.maxRows) : found;
  return { status: 200, body: { '@odata.context': '$metadata', value: kept } };
}

function answerListing(
  { source, root, switches }: OddWorld,
  resource: string,
  query: URLSearchParams,
): OddAnswer {
  const keys = [...(source.records.get(resource)?.keys() ?? [])].sort();
  const after = query.get('$skiptoken');
  const rest = after === null ? keys : keys.filter(key => key > after);
  const page = rest.slice(0, switches.pageSize);
  const field = KEY_FIELDS[resource] ?? '';
  const value = page.map(key => ({ [field]: resource === 'Numbered' ? BigInt(key) : key }));
  const last = page.at(-1) ?? '';
  const more = page.length < rest.length;
  const link = `${root}/${resource}?$select=${field}&$skiptoken=${encodeURIComponent(last)}`;
  return { status: 200, body: { value, ...(more && { '@odata.nextLink': link }) } };
}

function answerEvents(world: OddWorld, query: URLSearchParams, prefer: string): OddAnswer {
  const { source, switches, random, state } = world;
  const range = readSequenceFilter(query.get('$filter') ?? '');
  if (!range) return oddError(400, 'Cannot read $filter');
  if (switches.goneAlways || (switches.goneAbove !== undefined && range.after > switches.goneAbove)) {
    return oddError(410, 'Gone');
  }
  if (switches.nextLink === 'refused' && query.has('$skiptoken'))
    return oddError(400, 'The token has expired');
  // Only a page from before the question: one from further on would be a hole that no client can see.
  const repeats = state.lastPage !== undefined && state.lastPage.after <= range.after;
  if (repeats && state.lastPage && random() < switches.repeatPage) return state.lastPage.answer;
  let rows = source.log.filter(({ sequence }) => sequence > range.after && sequence <= range.upTo);
  if (switches.ignoresFilter) rows = source.log.slice();
  if (switches.order === 'late') rows = tellLate(source.log, rows);
  const sorted = switches.order === 'sorts-when-asked' && query.get('$orderby') !== null;
  if (switches.order === 'across' || (switches.order === 'sorts-when-asked' && !sorted))
    rows = shuffle(rows, random);
  const total = rows.length;
  const size = Math.min(switches.pageSize, Number(query.get('$top') ?? switches.pageSize));
  let page = rows.slice(0, size);
  const more = page.length < total && !query.has('$top');
  if (switches.order === 'within-page') page = shuffle(page, random);
  state.pagesServed++;
  const annotations = switches.annotations && prefer.includes('odata.include-annotations="pulsefeed.*"');
  const answer = pageAnswer(
    { ...world, switches: { ...switches, annotations } },
    ...([page, more, total, query, range.after] as const),
  );
  state.lastPage = { answer, after: range.after };
  const hold = switches.waits && total === 0 && /wait=/.test(prefer);
  return hold ? { ...answer, hold } : answer;
}

function pageAnswer(
  world: OddWorld,
  full: readonly Pulse[],
  more: boolean,
  total: number,
  query: URLSearchParams,
  after: bigint,
): OddAnswer {
  const { source, switches, random, root } = world;
  // An empty page that is not the end: its link leads to the rows it kept back.
  const empty = more && random() < switches.emptyPage;
  const page = empty ? [] : [...full];
  const first = page[0];
  if (first && random() < switches.duplicatePulse) page.splice(1, 0, first);
  const last = empty ? after : (full.at(-1)?.sequence ?? after);
  const value = page.map(({ sequence, resource, key }) => ({
    EntityEventSequence: sequence,
    ResourceName: resource,
    ResourceRecordKey: key,
  }));
  const link = more ? nextLink(world, last, query) : undefined;
  const body: JsonObject = {
    '@odata.context': `${root}/$metadata#EntityEvent`,
    ...(switches.counts && query.get('$count') === 'true' && { '@odata.count': total }),
    ...(switches.annotations && { '@pulsefeed.head': source.head, '@pulsefeed.epoch': source.epoch }),
    ...(switches.annotations && !more && { '@pulsefeed.scannedTo': source.head }),
    value,
    ...(link !== undefined && { '@odata.nextLink': link }),
  };
  const applied = [
    ...(switches.sizeApplied ? [`odata.maxpagesize=${switches.pageSize}`] : []),
    ...(switches.waits ? ['wait=1'] : []),
  ];
  return {
    status: 200,
    body,
    ...(applied.length > 0 && { headers: { 'preference-applied': applied.join(', ') } }),
  };
}

function nextLink(
  { switches, root, state }: OddWorld,
  last: bigint,
  query: URLSearchParams,
): string | undefined {
  const order = query.has('$orderby') ? '&$orderby=EntityEventSequence' : '';
  const filter = encodeURIComponent(`EntityEventSequence gt ${last}`);
  switch (switches.nextLink) {
    case 'none':
      return undefined;
    case 'circle':
      return `${root}/EntityEvent?${query}`;
    case 'foreign':
      return `https://elsewhere.invalid/EntityEvent?$filter=${filter}`;
    case 'yes':
    case 'refused':
      return `EntityEvent?$filter=${filter}${order}&$skiptoken=s${last}-${state.pagesServed}`;
  }
}

/** The second pulse of the log is left out of the page it belongs to and put before every later one. */
function tellLate(log: readonly Pulse[], rows: readonly Pulse[]): Pulse[] {
  const [first, second] = log;
  const rest = rows.filter(row => row !== second);
  return second && rest[0] !== first ? [second, ...rest] : rest;
}

function shuffle<T>(items: readonly T[], random: SeededRandom): T[] {
  return items
    .map(item => ({ item, by: random() }))
    .sort((a, b) => a.by - b.by)
    .map(({ item }) => item);
}

function readSequenceFilter(filter: string): { after: bigint; upTo: bigint } | undefined {
  const match = /^EntityEventSequence (gt|ge) (\d+)(?: and EntityEventSequence le (\d+))?$/.exec(filter);
  if (!match) return undefined;
  const after = BigInt(match[2] ?? '0') - (match[1] === 'ge' ? 1n : 0n);
  return { after, upTo: match[3] === undefined ? 1n << 63n : BigInt(match[3]) };
}

function readLiteral(text: string): string | undefined {
  if (/^-?\d+$/.test(text)) return text;
  const quoted = /^'((?:[^']|'')*)'$/s.exec(text)?.[1];
  return quoted?.replaceAll("''", "'");
}

function readKeyFilter(field: string, filter: string): string[] | undefined {
  const literals = [...filter.matchAll(/'(?:[^']|'')*'|(?<=[ (,])-?\d+(?=[),\s]|$)/gs)].map(([text]) => text);
  const rebuilt = [
    `${field} in (${literals.join(',')})`,
    literals.map(text => `${field} eq ${text}`).join(' or '),
  ];
  if (literals.length === 0 || !rebuilt.includes(filter)) return undefined;
  return literals.flatMap(text => readLiteral(text) ?? []);
}

/** The same body with every big or small Int64 written as a string (IEEE754Compatible). */
export function quoteNumbers(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(quoteNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, quoteNumbers(field)]));
}

const HTML = { 'content-type': 'text/html' };
