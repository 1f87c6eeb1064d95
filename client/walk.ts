import type { HttpClient } from './http-client.ts';
import type { Notify } from './notice.ts';
import { type Page, type Pulse, readPage } from './page.ts';
import { assertComplete, bySequence, larger } from './page-order.ts';
import { RecentNumbers } from './recent-numbers.ts';
import { collectionUrl } from './record-url.ts';
import { ReplicationError } from './replication-error.ts';
import { linkWithin } from './source-url.ts';
import type { Timing } from './timing.ts';

/** What the walk over the log yields, in order. */
export type Step =
  /** Pulses in ascending order; with all of them done the copy is complete up to `last`. */
  | {
      readonly kind: 'pulses';
      readonly pulses: readonly Pulse[];
      readonly last: bigint | undefined;
      readonly atHead: boolean;
    }
  /** The position is of no use any more: the walk goes on from the very beginning. */
  | { readonly kind: 'reset'; readonly reason: string };

/** What is known of the source's log, updated by every page. */
export interface LogKnowledge {
  /** `@pulsefeed.head`, or undefined where the source does not tell. */
  head: bigint | undefined;
  /** Every pulse up to this number was numbered before now: a fetch that starts now shows its change. */
  received: bigint | undefined;
  epoch: string | undefined;
}

/** What the walk needs. */
export interface WalkOptions {
  readonly base: string;
  readonly http: HttpClient;
  /** Start after this number; `undefined` for the very beginning (`ge 0`). */
  readonly from: bigint | undefined;
  readonly knowledge: LogKnowledge;
  readonly follow: boolean;
  readonly pageSize: number;
  readonly waitSeconds: number;
  readonly pollMs: number;
  readonly signal: AbortSignal;
  readonly timing: Timing;
  readonly notify: Notify;
}

const MAX_RESETS = 3;
/** A page that came sooner was not held, or brought something: then a pause lets more come together. */
const MIN_HELD_MS = 200;
const MAX_STALLS = 5;
const MAX_EMPTY_LINKS = 10_000;

/** The refusals that a question can meet; anything else is retried below and ends as an error. */
type Answer =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'refused'; readonly status: number };

/**
 * Walks EntityEvent in the order of its numbers and tells every pulse at least once (RCP-027 Replication). It ends at the
 * head, or never with `follow`. The head is only ever told by a well-formed page: empty after `gt <last>`, or with a last number that
 * has reached `@pulsefeed.head`.
 *
 * State: `last` is the position; `link` the nextLink to try before `gt <last>`; `stalls` counts pages that brought nothing new.
 */
export class Walk {
  readonly #o: WalkOptions;
  readonly #recent: RecentNumbers;
  #last: bigint | undefined;
  #link: string | undefined;
  #order: 'default' | 'asked' | 'refused' = 'default';
  #top: 'unused' | 'used' | 'refused' = 'unused';
  #stalls = 0;
  #emptyLinks = 0;
  #resets = 0;
  #waits = false;
  /** Pages in a row whose head is behind the position. */
  #behind = 0;
  /** The size of the last page if it had no nextLink and was not at the head. */
  #linkless: number | undefined;
  #said = new Set<string>();

  constructor(options: WalkOptions) {
    this.#o = options;
    this.#last = options.from;
    this.#recent = new RecentNumbers(20_000, options.from ?? -1n);
  }

  /** The steps; to be iterated once. @throws ReplicationError when the source cannot be walked safely. */
  async *steps(): AsyncGenerator<Step> {
    let idle = false;
    for (;;) {
      this.#o.signal.throwIfAborted();
      const url = this.#link ?? this.#plainUrl();
      const askedAtMs = this.#o.timing.now();
      const answer = await this.#ask(url, idle);
      const step =
        answer.kind === 'page' ? await this.#take(url, answer.page) : this.#refused(url, answer.status);
      if (!step) continue;
      yield step;
      idle = step.kind === 'pulses' && step.atHead;
      if (!idle) continue;
      this.#resets = 0;
      if (!this.#o.follow) return;
      // A server that holds the request is asked again at once; one that does not, or only says so, is left in peace for a while.
      const tookMs = this.#o.timing.now() - askedAtMs;
      if (!this.#waits || tookMs < MIN_HELD_MS) await this.#pause();
    }
  }

  #pause(): Promise<void> {
    return this.#o.timing.sleep(this.#o.pollMs * (0.5 + this.#o.timing.random()), this.#o.signal);
  }

  #plainUrl(): string {
    const options: Record<string, string> = {
      $filter: `EntityEventSequence ${this.#last === undefined ? 'ge 0' : `gt ${this.#last}`}`,
    };
    if (this.#order === 'asked') options.$orderby = 'EntityEventSequence';
    if (this.#top === 'used') options.$top = String(this.#o.pageSize);
    return collectionUrl(this.#o.base, 'EntityEvent', options);
  }

  #ask(url: string, idle: boolean): Promise<Answer> {
    // Where the head is known, a record is fetched once for all its pulses up to there.
    const size = `odata.maxpagesize=${this.#o.pageSize}, odata.include-annotations="pulsefeed.*"`;
    // Waiting is asked for only at the head, so that a page in mid-walk is never held back.
    const ask = idle
      ? { prefer: `${size}, wait=${this.#o.waitSeconds}`, holdMs: this.#o.waitSeconds * 1000 }
      : { prefer: size };
    return this.#o.http.get(url, ask, answer => {
      if (answer.status === 200) return { kind: 'page', page: readPage(answer) };
      return { kind: 'refused', status: answer.status };
    });
  }

  #refused(url: string, status: number): Step | undefined {
    if (url === this.#link) {
      this.#link = undefined;
      this.#sayOnce(
        'link-not-followed',
        `A nextLink was answered with ${status}; going on with "gt ${this.#last}".`,
      );
      return undefined;
    }
    if (status === 410)
      return this.#reset(
        'The source answers 410: numbers after the position were lost or are no longer kept.',
      );
    if (this.#order === 'asked') {
      this.#order = 'refused';
      return undefined;
    }
    if (this.#top === 'used') {
      this.#top = 'refused';
      return undefined;
    }
    throw new ReplicationError('refused', `EntityEvent answers ${status} to a plain question (${url}).`, {
      status,
      url,
    });
  }

  #reset(reason: string): Step {
    if (this.#last === undefined)
      throw new ReplicationError('gone', `${reason} It says so to a walk from the very beginning as well.`);
    if (++this.#resets > MAX_RESETS)
      throw new ReplicationError(
        'gone',
        `${reason} This is the ${this.#resets}th time before the head was reached.`,
      );
    this.#last = undefined;
    this.#link = undefined;
    this.#o.knowledge.received = undefined;
    this.#o.knowledge.head = undefined;
    this.#recent.restart();
    this.#o.notify({
      code: 'reinitialise',
      message: `${reason} Walking again from the beginning; the copy is kept meanwhile.`,
    });
    return { kind: 'reset', reason };
  }

  async #take(url: string, page: Page): Promise<Step | undefined> {
    const { knowledge } = this.#o;
    this.#waits = page.waits;
    if (page.quoted)
      this.#sayOnce('quoted-number', 'EntityEventSequence comes as a string; read as a number.');
    if (page.epoch !== undefined && page.epoch !== knowledge.epoch) {
      if (knowledge.epoch !== undefined)
        this.#o.notify({
          code: 'epoch',
          message: `The epoch of the source went from ${knowledge.epoch} to ${page.epoch}.`,
        });
      knowledge.epoch = page.epoch;
    }
    if (page.head !== undefined && this.#last !== undefined && page.head < this.#last) {
      // Once may be a page out of some cache; it is worth another question before the walk begins again.
      this.#link = undefined;
      if (++this.#behind < 2) return undefined;
      this.#behind = 0;
      return this.#reset(
        `The head of the source (${page.head}) is behind the position (${this.#last}): it is another log.`,
      );
    }
    this.#behind = 0;
    const late = page.pulses.find(pulse => this.#isLate(pulse));
    if (late || !page.ascending) {
      const settled = await this.#unordered(page, late);
      if (settled !== 'sorted') return settled;
    }
    return this.#advance(url, page);
  }

  #isLate(pulse: Pulse): boolean {
    return (
      this.#last !== undefined && pulse.sequence <= this.#last && this.#recent.wasSkipped(pulse.sequence)
    );
  }

  /** Decides on a page out of order: ask again in order, start again in order, take it sorted, or stop. */
  async #unordered(page: Page, late: Pulse | undefined): Promise<Step | undefined | 'sorted'> {
    if (this.#order === 'default') {
      this.#order = 'asked';
      this.#link = undefined;
      this.#sayOnce(
        'unordered-page',
        'A page of EntityEvent is not in ascending order; asking with $orderby.',
      );
      return late
        ? this.#reset(`Number ${late.sequence} came after ${this.#last} had been reached.`)
        : undefined;
    }
    if (late) {
      throw new ReplicationError(
        'unordered',
        `Number ${late.sequence} came only after ${this.#last} had been reached: pages are not in order, and a position in them would lose pulses.`,
      );
    }
    await assertComplete(this.#o.http, this.#o.base, this.#last, page.pulses);
    this.#sayOnce(
      'unordered-page',
      'Pages of EntityEvent are out of order but complete (checked by $count); sorted here.',
    );
    return 'sorted';
  }

  #advance(url: string, page: Page): Step | undefined {
    const pulses = page.ascending ? page.pulses : [...page.pulses].sort(bySequence);
    const before = this.#last;
    const fresh = pulses.filter(pulse => before === undefined || pulse.sequence > before);
    if (fresh.length < pulses.length)
      this.#sayOnce('repeated-pulse', 'Pulses up to the position came again.');
    for (const { sequence } of fresh) this.#recent.add(sequence);
    this.#last = fresh.at(-1)?.sequence ?? before;
    this.#chooseNext(url, page, fresh.length);
    const { knowledge } = this.#o;
    knowledge.head = page.head ?? knowledge.head;
    const last = this.#last ?? -1n;
    // A page that comes again tells the head of an earlier moment.
    const reachedHead = page.head !== undefined && last >= page.head && fresh.length === pulses.length;
    const atHead = page.nextLink === undefined && (pulses.length === 0 || reachedHead);
    this.#linkless = page.nextLink === undefined && !atHead ? pulses.length : undefined;
    if (atHead && page.scannedTo !== undefined && page.scannedTo > last) this.#last = page.scannedTo;
    const received = [this.#last, page.head, knowledge.received].filter(n => n !== undefined);
    if (received.length > 0) knowledge.received = received.reduce(larger);
    // Repeated pulses are told as well: telling one twice is always safe.
    return pulses.length > 0 || atHead ? { kind: 'pulses', pulses, last: this.#last, atHead } : undefined;
  }

  #chooseNext(url: string, page: Page, fresh: number): void {
    const wasLink = url === this.#link;
    const link =
      page.nextLink === undefined || !page.ascending
        ? undefined
        : linkWithin(this.#o.base, url, page.nextLink);
    if (page.nextLink !== undefined && page.ascending && (link === undefined || link === url)) {
      this.#sayOnce(
        'link-not-followed',
        `The nextLink ${page.nextLink} leads to ${link ? 'itself' : 'another host'}; going on with "gt ${this.#last}".`,
      );
    }
    this.#link = link === url ? undefined : link;
    if (fresh > 0) {
      this.#stalls = 0;
      this.#emptyLinks = 0;
      this.#adaptSize(page);
      return;
    }
    const more = page.nextLink !== undefined || page.pulses.length > 0;
    if (!more) return;
    if (page.pulses.length === 0 && this.#link !== undefined) {
      this.#sayOnce('empty-page', 'A page has no pulses but a nextLink; followed.');
      if (++this.#emptyLinks > MAX_EMPTY_LINKS)
        this.#stuck(`${MAX_EMPTY_LINKS} pages in a row are empty but have a nextLink`);
      return;
    }
    if (++this.#stalls > MAX_STALLS) this.#stuck('pages bring nothing after the position');
    // A repeated page may repeat its link too: the plain question is the way out of the circle.
    if (wasLink && this.#stalls > 1) this.#link = undefined;
  }

  #stuck(what: string): never {
    throw new ReplicationError(
      'no-progress',
      `The source does not go on after ${this.#last ?? 'the beginning'}: ${what}.`,
    );
  }

  /** Without `maxpagesize` some servers give ten rows a page: then `$top` is tried. */
  #adaptSize(page: Page): void {
    const { length } = page.pulses;
    // As many again where nothing more was promised: not an addition meanwhile, but a server without nextLink.
    const withoutLink = this.#linkless !== undefined && this.#linkless >= 10 && length >= this.#linkless;
    if (withoutLink)
      this.#sayOnce('no-next-link', 'Pages have no nextLink though more follows; going on with "gt <last>".');
    const small = length < Math.min(200, this.#o.pageSize) && !page.sizeApplied;
    if (!small || (page.nextLink === undefined && !withoutLink)) return;
    if (this.#top === 'used') this.#top = 'refused';
    if (this.#top !== 'unused') return;
    this.#top = 'used';
    this.#link = undefined;
    this.#sayOnce('small-pages', `Pages hold ${length} pulses in spite of maxpagesize; asking with $top.`);
  }

  #sayOnce(code: string, message: string): void {
    if (this.#said.has(code)) return;
    this.#said.add(code);
    this.#o.notify({ code, message });
  }
}
