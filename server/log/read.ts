import type { Queryable, Statement } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';

/** SQL with its values; the placeholders are numbered from the index that its maker was given. */
export interface SqlFragment {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The SQL expressions behind the three fields of EntityEvent, over an alias of pulsefeed.entity_event. */
export const eventColumns = {
  EntityEventSequence: (alias: string) => `${alias}.seq`,
  ResourceName: (alias: string) =>
    `(select r.name from pulsefeed.resource r where r.id = ${alias}.resource_id)`,
  ResourceRecordKey: (alias: string) => `${alias}.key`,
} as const;

/** The alias that fragments given to `read` refer to. */
export const eventAlias = 'e';

/** One pulse: "fetch this record again" (RCP-027). */
export interface Pulse {
  readonly sequence: EntityEventSequence;
  readonly resource: string;
  readonly key: string;
  /** What `position` asked for. */
  readonly position: readonly (string | null)[];
}

/** Which pulses are wanted. Every part is one statement with one snapshot. */
export interface ReadQuery {
  /** Placeholders from $1 on; the seek position is part of it. */
  readonly where: SqlFragment;
  /** For `count`: the same without the seek position, placeholders from $1 on. */
  readonly countWhere?: SqlFragment;
  /**
   * Makes the SQL that yields the `feed_id`s that the reader holds; resolved in the statement itself, since a list
   * made before it could miss a feed and page past its pulses. Absent: everyone's log, nothing is tested.
   */
  readonly held?: (firstParameter: number) => SqlFragment | undefined;
  /** No pulse at or below this can match `where`: where the postings of a narrow feed are entered. */
  readonly above?: bigint;
  /** `order by` list, ending in the sequence; its placeholders are among those of `where`. Absent: ascending. */
  readonly orderBy?: string;
  /** The values of the order for each pulse, as SQL text expressions. */
  readonly position?: readonly string[];
  readonly limit: number;
  readonly offset?: number;
}

/** A page and the head of the snapshot it was read in (HEAD, NOSKIP). */
export interface EventPage {
  readonly pulses: readonly Pulse[];
  readonly head: EntityEventSequence;
  readonly epoch: number;
  /** The version of the rules in the same snapshot. */
  readonly ruleVersion: number;
  /** All that match, present when `countWhere` was given. */
  readonly count?: bigint;
}

type Row = [
  head: bigint,
  epoch: number,
  ruleVersion: number,
  count: bigint | null,
  seq: bigint | null,
  resource: number | null,
  key: string | null,
  ...position: (string | null)[],
];

/** Reads pages. Holds the names of resources, which are interned once and never change. */
export function createReader(db: Queryable): (query: ReadQuery) => Promise<EventPage> {
  const names = new Map<number, string>();

  async function learnNames(): Promise<void> {
    for (const row of await db.query<{ id: number; name: string }>({
      text: 'select id, name from pulsefeed.resource',
    })) {
      names.set(row.id, row.name);
    }
  }

  return async query => {
    const rows = await db.query<Row>(pageStatement(query));
    const first = rows[0];
    if (first === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
    if (rows.some(row => row[5] !== null && !names.has(row[5]))) await learnNames();
    const pulses: Pulse[] = [];
    for (const [, , , , seq, resource, key, ...position] of rows) {
      if (seq === null || resource === null || key === null) continue;
      pulses.push({ sequence: asSequence(seq), resource: names.get(resource) ?? '', key, position });
    }
    const [head, epoch, ruleVersion, count] = first;
    const page = { pulses, head: asSequence(head), epoch, ruleVersion };
    return count === null ? page : { ...page, count };
  };
}

function pageStatement(query: ReadQuery): Statement {
  const values: unknown[] = [...query.where.values];
  const bind = (value: unknown, cast: string) => `$${values.push(value)}::${cast}`;
  const limit = bind(query.limit, 'bigint');
  const offset = bind(query.offset ?? 0, 'bigint');
  const held = query.held?.(values.length + 1);
  if (held !== undefined) values.push(...held.values);
  const above = held === undefined ? '' : bind(query.above ?? 0n, 'bigint');
  let count = 'null::bigint';
  if (query.countWhere !== undefined) {
    const shift = values.length;
    // The count's placeholders begin at $1 as well: they are moved behind those of the page.
    const where = query.countWhere.text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + shift}`);
    values.push(...query.countWhere.values);
    count =
      held === undefined
        ? `(select count(*) from pulsefeed.entity_event e where ${where})`
        : `(select count(*) from (${visibleTo(where, '0', '')}) v)`;
  }
  const position = (query.position ?? []).map((sql, index) => `${sql} as position${index}`);
  const columns = ['e.seq', 'e.resource_id', 'e.key', ...position];
  const outer = ['p.seq', 'p.resource_id', 'p.key', ...position.map((_, index) => `p.position${index}`)];
  const order = query.orderBy ?? 'e.seq';
  // In the order of the log each part need not yield more than the page; in any other all of it is ordered.
  const part = query.orderBy === undefined ? `limit ${limit} + ${offset}` : '';
  const from =
    held === undefined
      ? `pulsefeed.entity_event e where ${query.where.text}`
      : `(${visibleTo(query.where.text, above, part)}) v join pulsefeed.entity_event e on e.seq = v.seq`;
  // The lateral join keeps the order of its inner side; the head's row makes an empty page carry the head too.
  return {
    text: `${held === undefined ? '' : heldFeeds(held.text)}
select h.last_seq, h.epoch, h.rule_version, ${count}, ${outer.join(', ')}
from pulsefeed.log_head h
left join lateral (
  select ${columns.join(', ')}
  from ${from}
  order by ${order}
  limit ${limit} offset ${offset}
) p on true`,
    values,
    rowMode: 'array',
  };
}

/** What the reader holds, once for the statement: the bits of the shared feeds, and the narrow feeds. */
function heldFeeds(held: string): string {
  return `
with held as materialized (
  select f.id, f.bit from pulsefeed.feed f where f.id in (${held})
), shared as materialized (
  select coalesce(bit_or(1::bigint << bit), 0) as mask from held where bit is not null
)`;
}

/**
 * The numbers of the pulses that the reader may see: shared feeds by walking the log and testing their bits, narrow
 * ones through their postings. Written as two parts so that the planner has nothing to choose: one index each.
 * A reader without shared feeds never enters the first part.
 */
function visibleTo(where: string, above: string, part: string): string {
  return `
  (select e.seq from pulsefeed.entity_event e
   where (select mask from shared) <> 0 and (e.shared & (select mask from shared)) <> 0 and ${where}
   order by e.seq ${part})
  union
  (select n.seq from held f
   cross join lateral (
     select p.seq from pulsefeed.event_feed p
     join pulsefeed.entity_event e on e.seq = p.seq
     where p.feed_id = f.id and p.seq > ${above} and ${where}
     order by p.seq ${part}
   ) n
   where f.bit is null)`;
}
