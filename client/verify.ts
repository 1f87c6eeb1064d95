import { differingFields, hashRecord, type SourceRecord } from './canonical.ts';
import { decodeCursor } from './cursor.ts';
import { BadAnswer } from './http-send.ts';
import type { Resource } from './metadata.ts';
import { type Pulse, readJsonObject, readNextLink, readRows } from './page.ts';
import { collectionUrl } from './record-url.ts';
import { ReplicationError } from './replication-error.ts';
import { type SourceOptions, type SourceSession, withSource } from './source-session.ts';
import { linkWithin } from './source-url.ts';
import type { RecordRef, Store, Upsert } from './store.ts';
import { REAL_TIMING, type Timing } from './timing.ts';
import { Walk } from './walk.ts';

/** What `verify` is told. Nothing else may write to the copy meanwhile. */
export interface VerifyOptions extends SourceOptions {
  readonly store: Store;
  /** Fetch the differing records again and write or delete them. */
  readonly repair?: boolean | undefined;
  /** Looks at a difference before it is reported, with a growing pause between them; 3 by default. */
  readonly looks?: number;
  readonly onChecked?: (checked: number) => void;
}

/** One record that is not the same here and there. */
export interface Difference extends RecordRef {
  /** `missing` in the copy, `extra` in the copy, or `different`. */
  readonly kind: 'missing' | 'extra' | 'different';
  /** The fields that differ, for `different`. */
  readonly fields?: readonly string[];
}

/** What was found. */
export interface VerifyResult {
  /** Records of the copy that were compared, and keys of the source that were looked up. */
  readonly checked: number;
  readonly listed: number;
  readonly differences: readonly Difference[];
  /** Records whose pulse the copy has not come to yet: changed since, not wrong. */
  readonly behind: number;
  readonly repaired: number;
  /** How to mend what was found. */
  readonly advice: string;
}

const CHUNK = 500;

/**
 * Compares a copy with its source: every record of the copy by a hash of its meaning with the record of the source, and every key
 * of the source (by listing each resource, or where that is refused by its log) with the keys of the copy. A difference that a pulse
 * after the cursor explains is `behind`. Memory does not grow with the copy.
 * @throws ReplicationError; `store` when the store cannot read back.
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  return withSource(options, false, (session, signal) => new Verification(options, session, signal).run());
}

/** State: `found` holds the differences that were last seen, by resource and key. */
class Verification {
  readonly #o: VerifyOptions;
  readonly #session: SourceSession;
  readonly #signal: AbortSignal;
  readonly #timing: Timing;
  readonly #found = new Map<string, Difference>();
  #checked = 0;
  #listed = 0;

  constructor(options: VerifyOptions, session: SourceSession, signal: AbortSignal) {
    this.#o = options;
    this.#session = session;
    this.#signal = signal;
    this.#timing = options.timing ?? REAL_TIMING;
  }

  async run(): Promise<VerifyResult> {
    const { store } = this.#o;
    await store.open(this.#session.schema);
    const saved = await store.cursor();
    const cursor = saved === undefined ? undefined : decodeCursor(saved);
    for (const resource of this.#session.schema.resources.values()) {
      if (!resource.key) continue;
      await this.#compareRecords(resource);
      await this.#compareKeys(resource);
    }
    const behind = new Set<string>();
    for (let look = 0; look < (this.#o.looks ?? 3) && this.#found.size > 0; look++) {
      // The pulse of a change may be numbered a little after the change can be fetched.
      await this.#timing.sleep(look * 1000, this.#signal);
      for await (const pulse of this.#pulsesAfter(cursor?.last)) {
        if (this.#found.delete(refName(pulse))) behind.add(refName(pulse));
      }
      await this.#lookAgain();
    }
    const differences = [...this.#found.values()];
    const repaired = this.#o.repair && differences.length > 0 ? await this.#repair(differences, cursor) : 0;
    return {
      checked: this.#checked,
      listed: this.#listed,
      differences,
      behind: behind.size,
      repaired,
      advice: advise(differences.length, repaired, behind.size),
    };
  }

  async #compareRecords(resource: Resource): Promise<void> {
    const stored = this.#o.store.records(resource.name);
    if (!stored)
      throw new ReplicationError('store', 'This store cannot be read back, so there is nothing to compare.');
    for await (const chunk of chunks(stored, CHUNK)) {
      await this.#compare(resource, new Map(chunk.map(({ key, record }: Upsert) => [key, record])));
      this.#checked += chunk.length;
      this.#o.onChecked?.(this.#checked);
    }
  }

  async #compare(resource: Resource, stored: ReadonlyMap<string, SourceRecord | undefined>): Promise<void> {
    const theirs = await this.#session.fetcher.fetch(resource, [...stored.keys()]);
    for (const [key, mine] of stored) {
      const difference = compare(resource, key, mine, theirs.get(key));
      if (difference) this.#found.set(refName(difference), difference);
      else this.#found.delete(refName({ resource: resource.name, key }));
    }
  }

  async #compareKeys(resource: Resource): Promise<void> {
    for await (const keys of chunks(this.#sourceKeys(resource), CHUNK)) {
      const present = await this.#o.store.has(resource.name, keys);
      const missing = [...new Set(keys)].filter(key => !present.has(key));
      // Met in a listing is not proof enough: the record may be gone by now.
      if (missing.length > 0) await this.#compare(resource, new Map(missing.map(key => [key, undefined])));
      this.#listed += keys.length;
    }
  }

  async *#sourceKeys(resource: Resource): AsyncGenerator<string> {
    const { base, http } = this.#session;
    const name = resource.key?.name ?? '';
    let url: string | undefined = collectionUrl(base, resource.name, { $select: name });
    const seen = new Set<string>();
    while (url !== undefined) {
      const at: string = url;
      const page = await http.get(at, { prefer: 'odata.maxpagesize=1000' }, answer => {
        if (answer.status !== 200) return undefined;
        const body = readJsonObject(answer);
        return { keys: readRows(body).map(row => listedKey(name, row[name])), link: readNextLink(body) };
      });
      if (!page) {
        if (seen.size > 0)
          throw new ReplicationError('refused', `Listing ${resource.name} broke off at ${at}.`, { url: at });
        yield* this.#loggedKeys(resource.name);
        return;
      }
      yield* page.keys;
      seen.add(at);
      url = page.link === undefined ? undefined : linkWithin(base, at, page.link);
      if (url !== undefined && seen.has(url))
        throw new ReplicationError('no-progress', `Listing ${resource.name} goes in a circle.`, { url });
    }
  }

  async *#loggedKeys(resource: string): AsyncGenerator<string> {
    this.#o.onNotice?.({
      code: 'list-refused',
      message: `${resource} cannot be listed; its keys are taken from the log.`,
    });
    for await (const pulse of this.#pulsesAfter(undefined)) if (pulse.resource === resource) yield pulse.key;
  }

  async *#pulsesAfter(from: bigint | undefined): AsyncGenerator<Pulse> {
    const { base, http } = this.#session;
    const knowledge = { head: undefined, received: undefined, epoch: undefined };
    const notify = this.#o.onNotice ?? (() => {});
    const rest = { follow: false, pageSize: 1000, waitSeconds: 30, pollMs: 5000 };
    const walk = new Walk({
      base,
      http,
      from,
      knowledge,
      signal: this.#signal,
      timing: this.#timing,
      notify,
      ...rest,
    });
    for await (const step of walk.steps()) if (step.kind === 'pulses') yield* step.pulses;
  }

  async #lookAgain(): Promise<void> {
    const { store } = this.#o;
    for (const resource of this.#session.schema.resources.values()) {
      const open = [...this.#found.values()].filter(difference => difference.resource === resource.name);
      for (let at = 0; at < open.length; at += CHUNK) {
        const part = open.slice(at, at + CHUNK);
        // Nobody writes to the copy meanwhile: what it had of these records is what `#compareRecords` saw.
        const theirs = await this.#session.fetcher.fetch(
          resource,
          part.map(({ key }) => key),
        );
        const present = await store.has(
          resource.name,
          part.map(({ key }) => key),
        );
        for (const difference of part)
          this.#settle(difference, theirs.get(difference.key), present.has(difference.key));
      }
    }
  }

  /** Keeps, changes or drops a difference by a second look. */
  #settle(difference: Difference, theirs: SourceRecord | undefined, present: boolean): void {
    const { resource, key, kind } = difference;
    if (theirs === undefined && !present) this.#found.delete(refName(difference));
    else if (theirs === undefined) this.#found.set(refName(difference), { resource, key, kind: 'extra' });
    else if (!present) this.#found.set(refName(difference), { resource, key, kind: 'missing' });
    else if (kind === 'extra') this.#found.set(refName(difference), { resource, key, kind: 'different' });
  }

  async #repair(
    differences: readonly Difference[],
    cursor: ReturnType<typeof decodeCursor> | undefined,
  ): Promise<number> {
    const { store } = this.#o;
    const saved = await store.cursor();
    if (saved === undefined || !cursor)
      throw new ReplicationError('store', 'An empty copy is filled by replicate, not repaired.');
    let repaired = 0;
    for (const resource of this.#session.schema.resources.values()) {
      const keys = differences.filter(({ resource: name }) => name === resource.name).map(({ key }) => key);
      for (let at = 0; at < keys.length; at += CHUNK) {
        const fetched = await this.#session.fetcher.fetch(resource, keys.slice(at, at + CHUNK));
        const upserts: Upsert[] = [];
        const deletes: RecordRef[] = [];
        for (const [key, record] of fetched) {
          if (record) upserts.push({ resource: resource.name, key, record });
          else deletes.push({ resource: resource.name, key });
        }
        const { deferred } = await store.apply({
          upserts,
          deletes,
          generation: cursor.generation,
          cursor: () => saved,
        });
        repaired += fetched.size - deferred.length;
      }
    }
    return repaired;
  }
}

function compare(
  { name: resource, fields }: Resource,
  key: string,
  mine: SourceRecord | undefined,
  theirs: SourceRecord | undefined,
): Difference | undefined {
  if (mine === undefined) return theirs && { resource, key, kind: 'missing' };
  if (theirs === undefined) return { resource, key, kind: 'extra' };
  if (hashRecord(fields, mine) === hashRecord(fields, theirs)) return undefined;
  return { resource, key, kind: 'different', fields: differingFields(fields, mine, theirs) };
}

function listedKey(name: string, value: unknown): string {
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  if (!scalar) throw new BadAnswer(`A record lacks its key ${name}`);
  return String(value);
}

function advise(differences: number, repaired: number, behind: number): string {
  const lag = behind > 0 ? ` ${behind} records changed since the cursor: replicate brings them.` : '';
  if (differences === 0) return `The copy equals the source.${lag}`;
  if (repaired === differences) return `All differences were mended.${lag}`;
  if (repaired > 0) return `${repaired} of ${differences} differences were mended; run verify again.${lag}`;
  return `Run verify with repair to fetch these records again, or replicate with reinitialise to walk through everything.${lag}`;
}

async function* chunks<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let chunk: T[] = [];
  for await (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function refName({ resource, key }: RecordRef): string {
  return `${resource} ${key}`;
}
