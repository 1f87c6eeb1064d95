import { type Cursor, decodeCursor, encodeCursor, newCursor, restarted } from './cursor.ts';
import { FreshRecords } from './fresh-records.ts';
import type { Schema } from './metadata.ts';
import { ProgressMeter } from './progress.ts';
import { PulseQueue, type Window } from './pulse-queue.ts';
import type { Fetched } from './record-fetcher.ts';
import type { ReplicateOptions, ReplicateResult } from './replicate.ts';
import { ReplicationError } from './replication-error.ts';
import { rankResources } from './resource-order.ts';
import type { SourceSession } from './source-session.ts';
import type { RecordRef, Upsert } from './store.ts';
import { REAL_TIMING } from './timing.ts';
import { type LogKnowledge, Walk } from './walk.ts';

/** Fetched records, ordered for the store. */
interface Work {
  readonly upserts: Upsert[];
  readonly deletes: RecordRef[];
}

const MAX_WAITING = 10_000;

/**
 * One run of `replicate`. Three stages overlap: pages are read ahead, the records of one window are fetched, the window
 * before is written. Fetches of a window begin when all fetches of the window before are over, and windows are written
 * in order, so for one key an older result never follows a newer one.
 *
 * State: `cursor` is what the store holds, moved only by `apply`; `fresh` remembers which later pulses a fetch has covered.
 */
export class Replication {
  readonly #o: ReplicateOptions;
  readonly #session: SourceSession;
  readonly #signal: AbortSignal;
  readonly #meter: ProgressMeter;
  readonly #knowledge: LogKnowledge = { head: undefined, received: undefined, epoch: undefined };
  readonly #fresh = new FreshRecords(200_000);
  readonly #unknown = new Set<string>();
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #schema: Schema;
  #cursor: Cursor;
  #savedAtMs = 0;
  #retryWaitingAt = 0;
  #windows = 0;

  constructor(options: ReplicateOptions, session: SourceSession, signal: AbortSignal) {
    this.#o = options;
    this.#session = session;
    this.#signal = signal;
    this.#schema = session.schema;
    this.#meter = new ProgressMeter(() => this.#timing.now());
    this.#cursor = newCursor(session.base, [...session.schema.resources.keys()]);
    const parents = [...session.schema.resources.values()].map(
      ({ name, parents }) => [name, parents] as const,
    );
    this.#ranks = rankResources(new Map(parents));
  }

  get #timing() {
    return this.#o.timing ?? REAL_TIMING;
  }

  /** Small by default: with 1,000,000 pulses of 200,000 records 800 took no less time and some 30 MB more than 400. */
  get #windowSize(): number {
    const { windowSize, batchSize = 100, concurrency = 4 } = this.#o;
    return windowSize ?? Math.max(400, batchSize * concurrency);
  }

  /** Runs to the head, or until the signal aborts. */
  async run(): Promise<ReplicateResult> {
    await this.#open();
    const { last, epoch } = this.#cursor;
    this.#knowledge.epoch = epoch;
    const { waitSeconds = 30, pollMs = 5000, pageSize = 1000, readAhead = 1000, follow = false } = this.#o;
    const { base, http } = this.#session;
    const notify = this.#o.onNotice ?? (() => {});
    const walk = new Walk({
      ...{ base, http, from: last, knowledge: this.#knowledge, follow, pageSize, waitSeconds, pollMs },
      ...{ signal: this.#signal, timing: this.#timing, notify },
    });
    const queue = new PulseQueue(readAhead, last);
    const filling = queue.fill(walk.steps());
    try {
      await this.#consume(queue);
      return { ended: 'head', progress: this.#progress(true) };
    } catch (error) {
      if (!this.#o.signal?.aborted || error !== this.#signal.reason) throw error;
      return { ended: 'aborted', progress: this.#progress(false) };
    } finally {
      queue.close();
      // With the signal not aborted the walk may still wait for a page; its request ends with the session.
      filling.catch(() => {});
    }
  }

  async #open(): Promise<void> {
    const { store } = this.#o;
    const resources = [...this.#schema.resources.keys()];
    await store.open(this.#schema);
    const saved = await store.cursor();
    if (saved === undefined) return;
    this.#cursor = decodeCursor(saved);
    const { source, resources: kept } = this.#cursor;
    if (source !== this.#session.base && !this.#o.reinitialise) {
      const hint = 'Use another store, or "reinitialise" if it is the same source under a new URL.';
      throw new ReplicationError(
        'other-source',
        `This copy was made from ${source}, not from ${this.#session.base}. ${hint}`,
      );
    }
    // The pulses of a resource that was left out so far have been passed over: only a walk from the beginning brings them.
    const widened = resources.some(name => !kept.includes(name));
    if (widened || this.#o.reinitialise) {
      this.#cursor = restarted({ ...this.#cursor, source: this.#session.base, resources });
      this.#notice(
        'reinitialise',
        widened ? 'More resources than before: walking again.' : 'Walking again as asked.',
      );
      await this.#apply({ upserts: [], deletes: [] }, this.#cursor, 0);
    }
    this.#cursor = { ...this.#cursor, resources };
  }

  async #consume(queue: PulseQueue): Promise<void> {
    let writing: Promise<void> = Promise.resolve();
    try {
      for (;;) {
        const taken = await queue.take(this.#windowSize);
        if (taken.kind === 'end') break;
        if (taken.kind === 'reset') {
          await writing;
          this.#fresh.clear();
          await this.#apply({ upserts: [], deletes: [] }, restarted(this.#cursor), 0);
          continue;
        }
        const work = await this.#fetchWindow(taken);
        await writing;
        this.#signal.throwIfAborted();
        writing = this.#write(taken, work);
        // The rejection is met by the next await; until then it must not count as unhandled.
        writing.catch(() => {});
        if (taken.atHead) {
          await writing;
          await this.#arrive();
        }
      }
    } finally {
      await writing;
    }
  }

  async #fetchWindow(window: Window): Promise<Work> {
    this.#windows++;
    const wanted = new Map<string, Set<string>>();
    const want = ({ resource, key }: RecordRef) => {
      if (this.#schema.resources.has(resource))
        (wanted.get(resource) ?? setDefault(wanted, resource)).add(key);
      else if (!this.#o.resources) this.#noteUnknown(resource);
    };
    for (const pulse of window.pulses) if (!this.#fresh.covers(pulse)) want(pulse);
    const { waiting } = this.#cursor;
    if (waiting.length > 0 && (window.atHead || this.#windows >= this.#retryWaitingAt)) {
      this.#retryWaitingAt = this.#windows + 8;
      waiting.forEach(want);
    }
    return this.#fetch(wanted, window.last);
  }

  async #fetch(wanted: ReadonlyMap<string, ReadonlySet<string>>, last: bigint | undefined): Promise<Work> {
    // What was received before the first of these requests is shown by their answers.
    const { received } = this.#knowledge;
    const resources = [...wanted.keys()].sort((a, b) => this.#rank(a) - this.#rank(b));
    const answers = await Promise.all(
      resources.map(name => this.#fetchOne(name, wanted.get(name) ?? new Set())),
    );
    // Nothing after the position is covered at the head, so nothing need be remembered there.
    const ahead = received !== undefined && received > (last ?? -1n);
    const work: Work = { upserts: [], deletes: [] };
    resources.forEach((resource, at) => {
      const deletes: RecordRef[] = [];
      for (const key of wanted.get(resource) ?? []) {
        const record = answers[at]?.get(key);
        if (record) work.upserts.push({ resource, key, record });
        else deletes.push({ resource, key });
        if (ahead) this.#fresh.add({ resource, key }, received);
      }
      // Children go before their parents.
      work.deletes.unshift(...deletes);
    });
    return work;
  }

  async #fetchOne(name: string, keys: ReadonlySet<string>): Promise<Fetched> {
    const resource = this.#schema.resources.get(name);
    return resource ? this.#session.fetcher.fetch(resource, [...keys]) : new Map();
  }

  #rank(resource: string): number {
    return this.#ranks.get(resource) ?? 0;
  }

  async #write(window: Window, work: Work): Promise<void> {
    const { epoch } = this.#knowledge;
    const next: Cursor = { ...this.#cursor, last: window.last ?? this.#cursor.last, epoch };
    const idle = work.upserts.length + work.deletes.length === 0;
    const moved = next.last !== this.#cursor.last || epoch !== this.#cursor.epoch;
    // A cursor that moves over numbers hidden from this consumer is not worth a transaction each time.
    const due = !this.#o.follow || this.#timing.now() - this.#savedAtMs > 10_000;
    if (!idle || (moved && (window.pulses.length > 0 || due)))
      await this.#apply(work, next, window.pulses.length);
    if (!window.atHead) this.#o.onProgress?.(this.#progress(false));
  }

  async #apply(work: Work, next: Cursor, events: number): Promise<void> {
    const touched = new Set([...work.upserts, ...work.deletes].map(refName));
    const left = next.waiting.filter(ref => !touched.has(refName(ref)));
    const withDeferred = (deferred: readonly RecordRef[]): Cursor => ({
      ...next,
      waiting: [...left, ...deferred],
    });
    const { deferred } = await this.#o.store.apply({
      ...work,
      generation: next.generation,
      cursor: refs => encodeCursor(withDeferred(refs)),
    });
    this.#cursor = withDeferred(deferred);
    this.#savedAtMs = this.#timing.now();
    this.#meter.add(events, work.upserts.length, work.deletes.length);
    if (deferred.length === 0) return;
    const count = this.#cursor.waiting.length;
    this.#notice(
      'waiting',
      `${count} records wait for their parent, the first of them ${deferred[0] && refName(deferred[0])}.`,
    );
    if (count > MAX_WAITING) {
      throw new ReplicationError(
        'store',
        `${count} records wait for a parent that does not come; is a resource left out that the foreign keys need?`,
      );
    }
  }

  /** At the head: what waits is tried once more, and after a second walk the records it did not meet are looked at. */
  async #arrive(): Promise<void> {
    if (this.#cursor.walk === 'again') await this.#sweep();
    if (this.#cursor.walk !== 'done')
      await this.#apply({ upserts: [], deletes: [] }, { ...this.#cursor, walk: 'done' }, 0);
    if (this.#cursor.waiting.length > 0) await this.#refetch(this.#cursor.waiting);
    this.#o.onProgress?.(this.#progress(true));
  }

  async #sweep(): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      const stale = await this.#o.store.stale(this.#cursor.generation, this.#windowSize);
      if (stale === undefined) {
        this.#notice(
          'cannot-sweep',
          'The store cannot list its records; some that the source lost may remain.',
        );
        return;
      }
      if (stale.length === 0) return;
      const { upserts } = await this.#refetch(stale);
      if (upserts > 0)
        this.#notice(
          'unmet-record',
          `${upserts} records exist at the source though its log names them no more.`,
        );
      const waiting = new Set(this.#cursor.waiting.map(refName));
      if (stale.every(ref => waiting.has(refName(ref)))) return;
    }
  }

  async #refetch(refs: readonly RecordRef[]): Promise<{ upserts: number }> {
    const wanted = new Map<string, Set<string>>();
    for (const { resource, key } of refs) (wanted.get(resource) ?? setDefault(wanted, resource)).add(key);
    const work = await this.#fetch(wanted, this.#cursor.last);
    await this.#apply(work, this.#cursor, 0);
    return { upserts: work.upserts.length };
  }

  #progress(atHead: boolean) {
    return this.#meter.read(this.#cursor.last, this.#knowledge.head, atHead);
  }

  #noteUnknown(resource: string): void {
    if (this.#unknown.has(resource)) return;
    this.#unknown.add(resource);
    this.#notice('unknown-resource', `Pulses name ${resource}, which $metadata does not have; passed over.`);
  }

  #notice(code: string, message: string): void {
    this.#o.onNotice?.({ code, message });
  }
}

function refName({ resource, key }: RecordRef): string {
  return `${resource} ${key}`;
}

function setDefault(map: Map<string, Set<string>>, name: string): Set<string> {
  const fresh = new Set<string>();
  map.set(name, fresh);
  return fresh;
}
