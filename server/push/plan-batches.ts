import type { TypedValue } from '../edm/index.ts';
import { filterToSql } from '../edm/index.ts';
import { eventAlias } from '../log/index.ts';
import type { Block, BlockEvent, BlockReader } from './block.ts';
import type { Wanted } from './claim-sql.ts';
import { unsettledThreshold } from './decide.ts';
import type { Due, QueuedLetter } from './due-sql.ts';
import { envelopeBytes } from './envelope.ts';
import { readEventFilter } from './subscription-type.ts';

/** A batch that could be sent if it is claimed. */
export interface Planned {
  readonly due: Due;
  readonly wanted: Wanted;
  /** How many events it has, and these; a list is made when it is asked for. */
  readonly count: number;
  readonly events: () => readonly BlockEvent[];
  /** The multi-valued body, made when it is asked for. */
  readonly body: () => Buffer;
  readonly letter: QueuedLetter | undefined;
  /** The batch behind this one in the same block, if it is a whole one: it can be claimed as this one is settled. */
  readonly next?: () => Planned | undefined;
}

/** What was found for a subscription that is due. */
export type Found =
  | { readonly kind: 'send'; readonly planned: Planned }
  /** Nothing up to `to` is its own. */
  | { readonly kind: 'nothing'; readonly due: Due; readonly to: bigint; readonly move: boolean }
  /** The log does not tell it any more of every removal since its cursor, or what follows it was archived. */
  | { readonly kind: 'lost'; readonly due: Due; readonly horizon: bigint; readonly archived: boolean }
  /** A dead letter whose pulse is not there for it any more. */
  | { readonly kind: 'superseded'; readonly due: Due; readonly letter: QueuedLetter };

/** The most pulses of one read: bounds the memory whatever a subscription asks for. */
const mostOfBlock = 10_000;
/** Batches that one read is to be enough for, where a subscription is far behind. */
const batchesOfBlock = 8;

/** Condition of a filter over the log's alias; kept by its text, since many subscriptions share one. */
export class FilterBook {
  readonly #known = new Map<string, TypedValue>();

  where(filter: string | null) {
    if (filter === null) return () => ({ text: 'true', values: [] });
    let bound = this.#known.get(filter);
    if (bound === undefined) {
      bound = readEventFilter(filter);
      if (this.#known.size > 1_000) this.#known.clear();
      this.#known.set(filter, bound);
    }
    const value = bound;
    return (firstParameter: number) => filterToSql(value, { alias: eventAlias, firstParameter });
  }
}

/** A subscription to read for, and the place behind which something of its own may lie. */
export interface Reading {
  readonly due: Due;
  readonly after: bigint;
}

/**
 * Reads for subscriptions with the same filter and the same feeds, the one furthest behind first: each part of the log
 * is read once and serves all whose cursor lies in it.
 */
export async function planFresh(
  reader: BlockReader,
  filters: FilterBook,
  readings: readonly Reading[],
): Promise<Found[]> {
  const found: Found[] = [];
  let rest = [...readings].sort((a, b) => (a.after < b.after ? -1 : a.after > b.after ? 1 : 0));
  while (rest.length > 0) {
    const [first] = rest;
    if (first === undefined) break;
    const wants = Math.max(...rest.map(({ due }) => limitOf(due)));
    const limit = Math.min(mostOfBlock, wants * batchesOfBlock);
    const block = await reader.read({
      after: first.after,
      consumerIds: [...new Set(rest.map(({ due }) => due.consumerId))],
      where: filters.where(first.due.filter),
      limit,
    });
    const later: Reading[] = [];
    for (const reading of rest) {
      const one = fromBlock(block, reading, reading === first);
      if (one === undefined) later.push(reading);
      else found.push(one);
    }
    rest = later;
  }
  return found;
}

/** Undefined: the block does not hold enough for it; the next one will. */
function fromBlock(block: Block, { due, after }: Reading, first: boolean): Found | undefined {
  // The first one always gets its answer, so that each block is progress.
  if (!first && (after > block.scannedTo || (after === block.scannedTo && !block.atHead))) return undefined;
  const all = block.eventsOf(due.consumerId);
  if (all === undefined || !block.intact) return { kind: 'nothing', due, to: due.cursor, move: false };
  const lost = lostOf(block, due);
  if (lost !== undefined) return lost;
  const from = firstAbove(all, after);
  const to = endOf(all, from, due);
  if (!first && !block.atHead && to === all.length && to - from < limitOf(due)) return undefined;
  const last = all[to - 1];
  if (to === from || last === undefined) return { kind: 'nothing', due, to: block.scannedTo, move: false };
  return { kind: 'send', planned: slice(block, all, due, from, to) };
}

function slice(block: Block, all: readonly BlockEvent[], due: Due, from: number, to: number): Planned {
  // What lies between its last event and the end of what was read is not its own: the cursor need not stop there.
  const hi = to === all.length ? block.scannedTo : (all[to - 1]?.sequence ?? due.cursor);
  return {
    due,
    wanted: { id: due.id, version: due.version, cursor: due.cursor, hi, count: to - from, kind: 'fresh' },
    count: to - from,
    events: () => all.slice(from, to),
    body: () => block.bodyOf(all, from, to),
    letter: undefined,
    next() {
      const end = endOf(all, to, due);
      // A short one is left to the next read, which may find more to send with it.
      if (end === all.length && end - to < limitOf(due)) return undefined;
      return slice(
        block,
        all,
        { ...due, cursor: hi, batchHi: null, attempt: 0, unsettled: 0, failures: 0 },
        to,
        end,
      );
    },
  };
}

/**
 * Reads a frozen batch again: what is there of the window (cursor, batch_hi]. Compaction may have taken pulses from it,
 * each of which a later pulse covers; it is then sent smaller under the same id. More than there was, after a grant, is
 * covered by the grant's own pulses too, but a receiver that goes by the id would never see it: such a window is frozen
 * anew. Nothing left: the cursor moves on without a POST.
 */
export async function planAgain(reader: BlockReader, filters: FilterBook, due: Due): Promise<Found> {
  const hi = due.batchHi ?? due.cursor;
  const block = await reader.read({
    after: due.cursor,
    upTo: hi,
    consumerIds: [due.consumerId],
    where: filters.where(due.filter),
    limit: due.batchCount + 1,
  });
  const events = block.eventsOf(due.consumerId);
  if (events === undefined || !block.intact) return { kind: 'nothing', due, to: due.cursor, move: false };
  const lost = lostOf(block, due);
  if (lost !== undefined) return lost;
  if (events.length === 0) return { kind: 'nothing', due, to: hi, move: true };
  if (events.length > due.batchCount) return { kind: 'nothing', due, to: due.cursor, move: true };
  return {
    kind: 'send',
    planned: {
      due,
      wanted: {
        id: due.id,
        version: due.version,
        cursor: due.cursor,
        hi,
        count: events.length,
        kind: 'again',
      },
      count: events.length,
      events: () => events,
      body: () => block.bodyOf(events, 0, events.length),
      letter: undefined,
    },
  };
}

/** A dead letter that is to be sent again, as the consumer may see its pulse now. */
export async function planLetter(reader: BlockReader, due: Due, letter: QueuedLetter): Promise<Found> {
  const block = await reader.read({
    after: letter.seq - 1n,
    upTo: letter.seq,
    consumerIds: [due.consumerId],
    where: () => ({ text: 'true', values: [] }),
    limit: 1,
  });
  const events = block.eventsOf(due.consumerId) ?? [];
  if (events.length === 0) return { kind: 'superseded', due, letter };
  return {
    kind: 'send',
    planned: {
      due,
      wanted: {
        id: due.id,
        version: due.version,
        cursor: due.cursor,
        hi: letter.seq,
        count: 1,
        kind: 'redrive',
      },
      count: 1,
      events: () => events,
      body: () => block.bodyOf(events, 0, 1),
      letter,
    },
  };
}

/** True for a batch that its workers died over again and again: it is put to the decision without being sent. */
export function isSuspect({ batchHi, unsettled }: Due): boolean {
  return batchHi !== null && unsettled >= unsettledThreshold;
}

/** As a reader of the feed is refused below the horizon, unless it began with nothing after those removals were numbered. What is archived is not pushed. */
function lostOf(block: Block, due: Due): Found | undefined {
  if (due.cursor < block.archivedTo) return { kind: 'lost', due, horizon: block.archivedTo, archived: true };
  const horizon = block.horizonOf(due.consumerId);
  const fresh = due.originSeq === 0n && due.begunSeq >= horizon;
  return due.cursor >= horizon || fresh ? undefined : { kind: 'lost', due, horizon, archived: false };
}

function limitOf({ maxEvents, batchLimit }: Due): number {
  return Math.min(maxEvents, batchLimit ?? maxEvents);
}

/** The place of the first event above `after`; the list is in order. */
function firstAbove(events: readonly BlockEvent[], after: bigint): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const event = events[middle];
    if (event !== undefined && event.sequence <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where the batch that begins at `from` ends: by count and by bytes, one event at least. */
function endOf(events: readonly BlockEvent[], from: number, due: Due): number {
  const most = Math.min(events.length, from + limitOf(due));
  let bytes = envelopeBytes.frame;
  let to = from;
  for (; to < most; to += 1) {
    bytes += (events[to]?.bytes ?? 0) + envelopeBytes.event;
    if (bytes > due.maxBytes && to > from) break;
  }
  return to;
}
