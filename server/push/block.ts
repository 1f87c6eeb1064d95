import type { Db } from '../base/db/index.ts';
import type { SqlFragment } from '../log/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { type BlockMember, type BlockPulse, type RawBlock, readRawBlock } from './block-sql.ts';
import { eventFields, manyBody, type SentEvent } from './envelope.ts';

/** One pulse of a block; what it is written as is made once, for all who are sent it. */
export interface BlockEvent extends SentEvent {
  readonly fields: string;
  readonly bytes: number;
}

/** A part of the log, read once for several endpoints. */
export interface Block {
  readonly head: bigint;
  readonly epoch: number;
  readonly after: bigint;
  /** Everything up to here was looked at. */
  readonly scannedTo: bigint;
  readonly atHead: boolean;
  readonly intact: boolean;
  /** Numbers up to here are archived, and not in the block. */
  readonly archivedTo: bigint;
  /** The last number up to which removals that the consumer would have met were dropped. */
  horizonOf(consumerId: number): bigint;
  /** The consumer's events of the block in order, or undefined for one that may not read. Lists are shared: do not change. */
  eventsOf(consumerId: number): readonly BlockEvent[] | undefined;
  /** The body for a stretch of such a list; made once for all who are sent the same. */
  bodyOf(events: readonly BlockEvent[], from: number, to: number): Buffer;
}

/** What a block is read for. */
export interface BlockRange {
  readonly after: bigint;
  readonly upTo?: bigint;
  readonly consumerIds: readonly number[];
  readonly where: (firstParameter: number) => SqlFragment;
  readonly limit: number;
}

/** Reads blocks through the policy. Holds the names of resources, which are interned once and never change. */
export class BlockReader {
  readonly #db: Db;
  readonly #policy: VisibilityPolicy;
  readonly #names = new Map<number, string>();

  constructor(db: Db, policy: VisibilityPolicy) {
    this.#db = db;
    this.#policy = policy;
  }

  async read(range: BlockRange): Promise<Block> {
    const raw = await this.#policy.readMany(async allowed => {
      const found = await readRawBlock(this.#db, allowed, range);
      return { ruleVersion: found.ruleVersion, result: { ...found, everyone: allowed.everyone } };
    });
    if (raw.pulses.some(({ resourceId }) => !this.#names.has(resourceId))) await this.#learnNames();
    return toBlock(raw, range, this.#names);
  }

  async #learnNames(): Promise<void> {
    for (const { id, name } of await this.#db.query<{ id: number; name: string }>({
      text: 'select id, name from pulsefeed.resource',
    })) {
      this.#names.set(id, name);
    }
  }
}

function toBlock(
  raw: RawBlock & { everyone: boolean },
  range: BlockRange,
  names: ReadonlyMap<number, string>,
): Block {
  const { pulses, members, head } = raw;
  const events = pulses.map(({ sequence, resourceId, key }): BlockEvent => {
    const fields = eventFields({ sequence, resource: names.get(resourceId) ?? '', key });
    return { sequence, resource: names.get(resourceId) ?? '', key, fields, bytes: Buffer.byteLength(fields) };
  });
  const full = pulses.length >= range.limit;
  const end = range.upTo === undefined || range.upTo > head ? head : range.upTo;
  const scannedTo = full ? (pulses.at(-1)?.sequence ?? end) : end;
  const visible = visibility(members, pulses, events, raw.everyone);
  const bodies = new Map<readonly BlockEvent[], Map<string, Buffer>>();
  return {
    head,
    epoch: raw.epoch,
    after: range.after,
    scannedTo,
    atHead: !full,
    intact: raw.intact,
    archivedTo: raw.archivedTo,
    horizonOf: consumerId => members.find(member => member.consumerId === consumerId)?.horizon ?? 0n,
    eventsOf: visible,
    bodyOf(list, from, to) {
      const known = bodies.get(list) ?? new Map<string, Buffer>();
      bodies.set(list, known);
      const name = `${from}:${to}`;
      const body = known.get(name) ?? Buffer.from(manyBody(list.slice(from, to).map(({ fields }) => fields)));
      known.set(name, body);
      return body;
    },
  };
}

/** Who sees what: consumers that hold the same shared feeds, and meet no narrow one, get one and the same list. */
function visibility(
  members: readonly BlockMember[],
  pulses: readonly BlockPulse[],
  events: readonly BlockEvent[],
  everyone: boolean,
): Block['eventsOf'] {
  const byMask = new Map<bigint, readonly BlockEvent[]>();
  const posted = pulses.some(({ narrow }) => narrow.length > 0);
  const known = new Map(members.map(member => [member.consumerId, member]));
  const pick = (sees: (pulse: BlockPulse) => boolean) =>
    events.filter((_, index) => {
      const pulse = pulses[index];
      return pulse !== undefined && sees(pulse);
    });
  return consumerId => {
    const member = known.get(consumerId);
    if (member === undefined) return undefined;
    if (everyone) return events;
    const { mask } = member;
    const narrow = new Set(member.narrow);
    if (posted && pulses.some(pulse => pulse.narrow.some(feed => narrow.has(feed)))) {
      return pick(
        ({ shared, narrow: feeds }) => (shared & mask) !== 0n || feeds.some(feed => narrow.has(feed)),
      );
    }
    const list = byMask.get(mask) ?? pick(({ shared }) => (shared & mask) !== 0n);
    byMask.set(mask, list);
    return list;
  };
}
