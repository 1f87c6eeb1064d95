import { plainRecord, type SourceRecord } from './canonical.ts';
import { isJsonObject, type JsonObject, parseExact } from './exact-json.ts';
import { type Ask, BadAnswer, type HttpAnswer, type HttpClient } from './http-client.ts';
import type { Field, Resource } from './metadata.ts';
import type { Notify } from './notice.ts';
import { readJsonObject, readNextLink, readRows } from './page.ts';
import {
  type BatchMethod,
  batchFilter,
  collectionUrl,
  isPlainKey,
  keyLiteral,
  recordUrl,
} from './record-url.ts';
import { ReplicationError } from './replication-error.ts';
import { linkWithin } from './source-url.ts';

/** Records by key; a key with `undefined` does not exist at the source (any more), which was confirmed. */
export type Fetched = Map<string, SourceRecord | undefined>;

/** A replacement for the batch request: gives the records it finds; keys that it leaves out are confirmed one by one. */
export type FetchBatch = (
  resource: string,
  keys: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, SourceRecord>>;

/** Fetches records by key in batches, learning per resource which way of asking the source takes. */
export interface RecordFetcher {
  /**
   * Fetches every key once, each request starting after the call. A key is reported absent only when a question for that key
   * alone says so.
   * @throws ReplicationError when the source fails or leaves no way to be sure.
   */
  fetch(resource: Resource, keys: readonly string[]): Promise<Fetched>;
}

/** What a RecordFetcher needs. `concurrency` bounds the requests in flight over all resources. */
export interface RecordFetcherOptions {
  readonly base: string;
  readonly http: HttpClient;
  readonly concurrency: number;
  readonly batchSize: number;
  readonly maxUrlLength: number;
  readonly fetchBatch: FetchBatch | undefined;
  readonly signal: AbortSignal;
  readonly notify: Notify;
}

/** What was learned about one resource. `largest` is the largest batch that each method was seen to answer. */
interface Learned {
  method: BatchMethod;
  size: number;
  readonly largest: Record<BatchMethod, number>;
  pathRefused: boolean;
}

interface Job {
  readonly resource: Resource;
  readonly keyField: Field;
  readonly literals: ReadonlyMap<string, string>;
  readonly learned: Learned;
  readonly results: Fetched;
}

const REFUSALS = new Set([400, 404, 405, 406, 410, 413, 414, 422, 431, 500, 501]);
const TOO_LONG = new Set([413, 414, 431]);

/** Makes a RecordFetcher. */
export function recordFetcher(options: RecordFetcherOptions): RecordFetcher {
  const { base, http, notify } = options;
  const memory = new Map<string, Learned>();
  const inSlot = slots(options.concurrency);

  function learnedOf(resource: string): Learned {
    const known = memory.get(resource);
    if (known) return known;
    const method = options.batchSize > 1 ? 'in' : 'key';
    const fresh: Learned = {
      method,
      size: options.batchSize,
      largest: { in: 0, or: 0, key: 1 },
      pathRefused: false,
    };
    memory.set(resource, fresh);
    return fresh;
  }

  async function fetchKeys(job: Job, keys: readonly string[]): Promise<void> {
    await Promise.all(cut(job, keys, options).map(batch => fetchOneBatch(job, batch)));
  }

  async function fetchOneBatch(job: Job, keys: readonly string[]): Promise<void> {
    const { method } = job.learned;
    const [only] = keys;
    if (only !== undefined && (keys.length === 1 || method === 'key') && !options.fetchBatch) {
      await Promise.all(keys.map(key => confirm(job, key)));
      return;
    }
    const refusedBy = await inSlot(() => askBatch(job, method, keys));
    if (refusedBy !== undefined) {
      const byKey = learn(job, method, keys.length, refusedBy);
      if (!byKey) return fetchKeys(job, keys);
      const half = Math.ceil(keys.length / 2);
      await Promise.all([fetchOneBatch(job, keys.slice(0, half)), fetchOneBatch(job, keys.slice(half))]);
      return;
    }
    const left = keys.filter(key => !job.results.has(key));
    await Promise.all(left.map(key => confirm(job, key)));
    const omitted = left.filter(key => job.results.get(key) !== undefined).length;
    if (omitted > 0) noteOmission(job, keys.length, omitted);
  }

  /** Records found go to the results. Returns the status when the source refuses to be asked like this. */
  async function askBatch(
    job: Job,
    method: BatchMethod,
    keys: readonly string[],
  ): Promise<number | undefined> {
    if (options.fetchBatch) {
      const found = await options.fetchBatch(job.resource.name, keys, options.signal);
      for (const key of keys) if (found.has(key)) job.results.set(key, found.get(key));
      return undefined;
    }
    const literals = keys.map(key => job.literals.get(key) ?? '');
    const filter = batchFilter(method === 'in' ? 'in' : 'or', job.keyField, literals);
    const asked = new Map(keys.map(key => [normalKey(job.keyField, key), key]));
    let url: string | undefined = collectionUrl(base, job.resource.name, {
      $filter: filter,
      $top: String(keys.length),
    });
    // A server may page the answer of a batch; a batch of n keys has at most n pages with something in them.
    for (let pages = 0; url !== undefined && asked.size > 0 && pages <= keys.length; pages++) {
      const answer = await askCollection(url, { triesOf500: 3 });
      if (typeof answer === 'number') return pages === 0 ? answer : undefined;
      let foreign = 0;
      for (const row of answer.rows) {
        const name = normalKey(job.keyField, rowKey(job.keyField, row));
        const key = asked.get(name);
        if (key === undefined) foreign++;
        else job.results.set(key, plainRecord(row));
        asked.delete(name);
      }
      if (foreign > 0)
        notify({
          code: 'unasked-record',
          message: `${job.resource.name} answers ${foreign} records that were not asked for.`,
        });
      url = answer.nextLink === undefined ? undefined : linkWithin(base, url, answer.nextLink);
    }
    job.learned.largest[method] = Math.max(job.learned.largest[method], keys.length);
    return undefined;
  }

  async function askCollection(
    url: string,
    ask: Ask = {},
  ): Promise<{ rows: JsonObject[]; nextLink: string | undefined } | number> {
    try {
      return await http.get(url, ask, answer => {
        if (answer.status !== 200) {
          if (REFUSALS.has(answer.status)) return answer.status;
          throw new BadAnswer(`The source answers ${answer.status}`);
        }
        const body = readJsonObject(answer);
        return { rows: readRows(body), nextLink: readNextLink(body) };
      });
    } catch (error) {
      // Many servers answer 500 to a filter they cannot parse: with another way left, that is a refusal and not the end.
      const refused =
        ask.triesOf500 !== undefined && error instanceof ReplicationError && error.status === 500;
      if (refused) return 500;
      throw error;
    }
  }

  /** Asks for one key alone, by its URL and where that is not to be trusted by a filter. */
  async function confirm(job: Job, key: string): Promise<void> {
    const literal = job.literals.get(key) ?? '';
    const byPath = job.learned.pathRefused ? 'unsure' : await inSlot(() => askPath(job, key, literal));
    if (byPath !== 'unsure') {
      job.results.set(key, byPath === 'gone' ? undefined : byPath);
      return;
    }
    const url = collectionUrl(base, job.resource.name, {
      $filter: batchFilter('or', job.keyField, [literal]),
    });
    const answer = await inSlot(() => askCollection(url));
    if (typeof answer === 'number') {
      const message = `Whether ${job.resource.name} ${JSON.stringify(key)} exists cannot be found out: its URL gives no clear answer and a filter for it answers ${answer}.`;
      throw new ReplicationError('refused', message, { status: answer, url });
    }
    const row = answer.rows.find(candidate => sameKey(job.keyField, candidate, key));
    job.results.set(key, row && plainRecord(row));
    if (row && !job.learned.pathRefused) {
      notify({
        code: 'key-path-unreliable',
        message: `${recordUrl('', job.resource.name, literal)} does not find a record that $filter finds.`,
      });
      if (isPlainKey(key)) job.learned.pathRefused = true;
    }
  }

  async function askPath(job: Job, key: string, literal: string): Promise<SourceRecord | 'gone' | 'unsure'> {
    const url = recordUrl(base, job.resource.name, literal);
    return http.get(url, {}, answer => {
      if (answer.status === 200) return readSingle(job, key, answer);
      // A gateway or a router that does not know the path answers 404 as well, and some mangle encoded slashes and quotes:
      // only the service's own error about a plain key is taken at its word.
      const certain =
        (answer.status === 404 || answer.status === 410) && isODataError(answer) && isPlainKey(key);
      if (certain) return 'gone';
      if (answer.status === 405 || answer.status === 501) job.learned.pathRefused = true;
      return 'unsure';
    });
  }

  /** Learns from a refusal. True when the same kind of batch worked before, so that one of these keys must be the reason. */
  function learn(job: Job, method: BatchMethod, size: number, status: number): boolean {
    const { learned } = job;
    if (learned.method !== method || size > learned.size) return false;
    const largest = learned.largest[method];
    if (size <= largest) return true;
    if (!TOO_LONG.has(status) && method === 'in' && largest === 0) {
      learned.method = 'or';
    } else {
      learned.size = Math.max(largest, Math.floor(size / 2));
      if (learned.size < 2 && method === 'in')
        Object.assign(learned, { method: 'or', size: options.batchSize });
      else if (learned.size < 2) learned.method = 'key';
    }
    const now = learned.method === 'key' ? 'one by one' : `by "${learned.method}", ${learned.size} at most`;
    notify({
      code: 'batch-refused',
      message: `${job.resource.name} answers ${status} to ${size} keys by "${method}"; now ${now}.`,
    });
    return false;
  }

  function noteOmission(job: Job, asked: number, omitted: number): void {
    notify({
      code: 'batch-omits',
      message: `${job.resource.name} left ${omitted} of ${asked} records out of a batch; they were fetched by key.`,
    });
    // A server that always gives at most n records wastes the rest of each batch.
    if (omitted * 2 > asked && job.learned.size >= asked) job.learned.size = Math.max(1, asked - omitted);
  }

  return {
    fetch: async (resource, keys) => {
      const keyField = resource.key;
      if (!keyField) {
        throw new ReplicationError(
          'metadata',
          `${resource.name} has no single key field, so a ResourceRecordKey cannot name its records.`,
        );
      }
      const results: Fetched = new Map();
      const literals = new Map<string, string>();
      for (const key of keys) {
        const literal = keyLiteral(keyField, key);
        if (literal === undefined) results.set(key, undefined);
        else literals.set(key, literal);
      }
      await fetchKeys({ resource, keyField, literals, learned: learnedOf(resource.name), results }, [
        ...literals.keys(),
      ]);
      return results;
    },
  };
}

/** Cuts keys into batches within the learned size and the longest URL. */
function cut(job: Job, keys: readonly string[], options: RecordFetcherOptions): string[][] {
  const batches: string[][] = [];
  const perKey = job.learned.method === 'or' ? encodeURIComponent(`${job.keyField.name} eq  or `).length : 3;
  let length = Number.POSITIVE_INFINITY;
  for (const key of keys) {
    const added = perKey + encodeURIComponent(job.literals.get(key) ?? '').length + 8;
    const batch = batches.at(-1);
    if (batch && batch.length < job.learned.size && length + added <= options.maxUrlLength) {
      batch.push(key);
      length += added;
    } else {
      batches.push([key]);
      length = options.base.length + job.resource.name.length + 60 + added;
    }
  }
  return batches;
}

function rowKey(field: Field, row: JsonObject): string {
  const value = row[field.name];
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  if (!scalar) throw new BadAnswer(`A record lacks its key ${field.name}`);
  return String(value);
}

function normalKey(field: Field, key: string): string {
  return field.type === 'Edm.Guid' ? key.toLowerCase() : key;
}

function sameKey(field: Field, row: JsonObject, key: string): boolean {
  return normalKey(field, rowKey(field, row)) === normalKey(field, key);
}

function readSingle(job: Job, key: string, answer: HttpAnswer): SourceRecord | 'unsure' {
  const body = readJsonObject(answer);
  // Some servers answer a collection of one; an empty one is asked again by filter.
  const row = Array.isArray(body.value) ? readRows(body)[0] : body;
  if (!row) return 'unsure';
  if (!sameKey(job.keyField, row, key)) throw new BadAnswer(`The source answers another record than ${key}`);
  return plainRecord(row);
}

function isODataError(answer: HttpAnswer): boolean {
  try {
    const body = parseExact(answer.text);
    return isJsonObject(body) && isJsonObject(body.error) && body.error.code !== undefined;
  } catch {
    return false;
  }
}

/** Runs at most `count` tasks at once, in the order of the calls. */
function slots(count: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async task => {
    if (free > 0) free--;
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
