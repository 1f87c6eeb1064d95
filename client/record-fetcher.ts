import { LearnedMethod } from './batch-method.ts';
import { plainRecord, type SourceRecord } from './canonical.ts';
import type { JsonObject } from './exact-json.ts';
import type { Ask, HttpClient } from './http-client.ts';
import { BadAnswer } from './http-send.ts';
import type { Field, Resource } from './metadata.ts';
import type { Notify } from './notice.ts';
import { readJsonObject, readNextLink, readRows } from './page.ts';
import { isODataError, normalKey, readSingle, rowKey, sameKey } from './record-rows.ts';
import {
  type BatchMethod,
  batchFilter,
  collectionUrl,
  isPlainKey,
  keyLiteral,
  recordUrl,
} from './record-url.ts';
import { ReplicationError } from './replication-error.ts';
import { requestSlots } from './request-slots.ts';
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

interface Job {
  readonly resource: Resource;
  readonly keyField: Field;
  readonly literals: ReadonlyMap<string, string>;
  readonly learned: LearnedMethod;
  readonly results: Fetched;
  /** The collection or one of its records has been answered, so the resource is there. */
  alive: boolean;
}

interface Rows {
  readonly rows: JsonObject[];
  readonly nextLink: string | undefined;
}

const REFUSALS = new Set([400, 404, 405, 406, 410, 413, 414, 422, 431, 500, 501]);

/** Makes a RecordFetcher. */
export function recordFetcher(options: RecordFetcherOptions): RecordFetcher {
  return new LearningFetcher(options);
}

/** State: `#learned` by resource; at most `concurrency` requests are in `#inSlot`. */
class LearningFetcher implements RecordFetcher {
  readonly #o: RecordFetcherOptions;
  readonly #learned = new Map<string, LearnedMethod>();
  readonly #inSlot: ReturnType<typeof requestSlots>;

  constructor(options: RecordFetcherOptions) {
    this.#o = options;
    this.#inSlot = requestSlots(options.concurrency);
  }

  async fetch(resource: Resource, keys: readonly string[]): Promise<Fetched> {
    const { name, key: keyField } = resource;
    if (!keyField) {
      const message = `${name} has no single key field, so a ResourceRecordKey cannot name its records.`;
      throw new ReplicationError('metadata', message);
    }
    const learned = this.#learned.get(name) ?? new LearnedMethod(this.#o.batchSize);
    this.#learned.set(name, learned);
    const results: Fetched = new Map();
    const literals = new Map<string, string>();
    for (const key of keys) {
      const literal = keyLiteral(keyField, key);
      if (literal === undefined) results.set(key, undefined);
      else literals.set(key, literal);
    }
    const job: Job = { resource, keyField, literals, learned, results, alive: false };
    await this.#fetchKeys(job, [...literals.keys()]);
    const gone = [...literals.keys()].some(key => results.get(key) === undefined);
    if (gone && !job.alive) await this.#assertAlive(name);
    return results;
  }

  async #fetchKeys(job: Job, keys: readonly string[]): Promise<void> {
    await Promise.all(cut(job, keys, this.#o).map(batch => this.#fetchBatch(job, batch)));
  }

  async #fetchBatch(job: Job, keys: readonly string[]): Promise<void> {
    const { method } = job.learned;
    if ((keys.length === 1 || method === 'key') && !this.#o.fetchBatch) {
      await Promise.all(keys.map(key => this.#confirm(job, key)));
      return;
    }
    const refusedBy = await this.#inSlot(() => this.#askBatch(job, method, keys));
    if (refusedBy !== undefined) return this.#askOtherwise(job, method, keys, refusedBy);
    const left = keys.filter(key => !job.results.has(key));
    await Promise.all(left.map(key => this.#confirm(job, key)));
    const omitted = left.filter(key => job.results.get(key) !== undefined).length;
    if (omitted === 0) return;
    job.learned.omitted(keys.length, omitted);
    const counts = `${omitted} of ${keys.length} records`;
    this.#notice(
      'batch-omits',
      `${job.resource.name} left ${counts} out of a batch; they were fetched by key.`,
    );
  }

  async #askOtherwise(job: Job, method: BatchMethod, keys: readonly string[], status: number): Promise<void> {
    const { learned, resource } = job;
    const lesson = learned.refused(method, keys.length, status);
    if (lesson === 'known') {
      const half = Math.ceil(keys.length / 2);
      const halves = [keys.slice(0, half), keys.slice(half)];
      await Promise.all(halves.map(part => this.#fetchBatch(job, part)));
      return;
    }
    if (lesson === 'learned') {
      const what = `${resource.name} answers ${status} to ${keys.length} keys by "${method}"`;
      this.#notice('batch-refused', `${what}; now ${learned.describe()}.`);
    }
    await this.#fetchKeys(job, keys);
  }

  /** Records found go to the results. Returns the status when the source refuses to be asked like this. */
  async #askBatch(job: Job, method: BatchMethod, keys: readonly string[]): Promise<number | undefined> {
    const { keyField, resource, results } = job;
    if (this.#o.fetchBatch) {
      const found = await this.#o.fetchBatch(resource.name, keys, this.#o.signal);
      for (const key of keys) if (found.has(key)) results.set(key, found.get(key));
      return undefined;
    }
    const literals = keys.map(key => job.literals.get(key) ?? '');
    const $filter = batchFilter(method === 'in' ? 'in' : 'or', keyField, literals);
    const asked = new Map(keys.map(key => [normalKey(keyField, key), key]));
    let url: string | undefined = collectionUrl(this.#o.base, resource.name, {
      $filter,
      $top: String(keys.length),
    });
    // A server may page the answer of a batch; a batch of n keys has at most n pages with something in them.
    for (let pages = 0; url !== undefined && asked.size > 0 && pages <= keys.length; pages++) {
      const answer = await this.#askCollection(url, { triesOf500: 3 });
      if (typeof answer === 'number') return pages === 0 ? answer : undefined;
      job.alive = true;
      this.#keep(job, asked, answer.rows);
      url = answer.nextLink === undefined ? undefined : linkWithin(this.#o.base, url, answer.nextLink);
    }
    job.learned.answered(method, keys.length);
    return undefined;
  }

  #keep({ keyField, resource, results }: Job, asked: Map<string, string>, rows: readonly JsonObject[]): void {
    let foreign = 0;
    for (const row of rows) {
      const name = normalKey(keyField, rowKey(keyField, row));
      const key = asked.get(name);
      if (key === undefined) foreign++;
      else results.set(key, plainRecord(row));
      asked.delete(name);
    }
    if (foreign === 0) return;
    this.#notice('unasked-record', `${resource.name} answers ${foreign} records that were not asked for.`);
  }

  async #askCollection(url: string, ask: Ask = {}): Promise<Rows | number> {
    try {
      return await this.#o.http.get(url, ask, answer => {
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
  async #confirm(job: Job, key: string): Promise<void> {
    const { keyField, learned, resource, results } = job;
    const literal = job.literals.get(key) ?? '';
    const byPath = learned.pathRefused
      ? 'unsure'
      : await this.#inSlot(() => this.#askPath(job, key, literal));
    if (byPath !== 'unsure') {
      results.set(key, byPath === 'gone' ? undefined : byPath);
      return;
    }
    const url = collectionUrl(this.#o.base, resource.name, {
      $filter: batchFilter('or', keyField, [literal]),
    });
    const answer = await this.#inSlot(() => this.#askCollection(url));
    if (typeof answer === 'number') {
      const what = `Whether ${resource.name} ${JSON.stringify(key)} exists cannot be found out`;
      const message = `${what}: its URL gives no clear answer and a filter for it answers ${answer}.`;
      throw new ReplicationError('refused', message, { status: answer, url });
    }
    job.alive = true;
    const row = answer.rows.find(candidate => sameKey(keyField, candidate, key));
    results.set(key, row && plainRecord(row));
    if (!row || learned.pathRefused) return;
    if (isPlainKey(key)) learned.pathRefused = true;
    const path = recordUrl('', resource.name, literal);
    this.#notice('key-path-unreliable', `${path} does not find a record that $filter finds.`);
  }

  async #askPath(job: Job, key: string, literal: string): Promise<SourceRecord | 'gone' | 'unsure'> {
    const url = recordUrl(this.#o.base, job.resource.name, literal);
    return this.#o.http.get(url, {}, answer => {
      if (answer.status === 200) {
        const record = readSingle(job.keyField, key, answer);
        job.alive = true;
        return record;
      }
      // A gateway or a router that does not know the path answers 404 as well, and some mangle encoded slashes and quotes:
      // only the service's own error about a plain key is taken at its word.
      const gone = answer.status === 404 || answer.status === 410;
      if (gone && isODataError(answer) && isPlainKey(key)) return 'gone';
      if (answer.status === 405 || answer.status === 501) job.learned.pathRefused = true;
      return 'unsure';
    });
  }

  /**
   * A service that has lost a whole resource (a broken deployment, a right that was taken away) answers 404 to every key of it.
   * Nothing is deleted on that ground.
   */
  async #assertAlive(resource: string): Promise<void> {
    const url = collectionUrl(this.#o.base, resource, { $top: '1' });
    const answer = await this.#inSlot(() => this.#askCollection(url));
    if (answer !== 404 && answer !== 410) return;
    const message = `${resource} itself answers ${answer}, so that of its records says nothing about them.`;
    throw new ReplicationError('refused', message, { status: answer, url });
  }

  #notice(code: string, message: string): void {
    this.#o.notify({ code, message });
  }
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
