import type { Queryable } from '../base/db/index.ts';
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
  /** Placeholders from $1 on; visibility and the seek position are part of it. */
  readonly where: SqlFragment;
  /** For `count`: the same without the seek position, placeholders from $1 on. */
  readonly countWhere?: SqlFragment;
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
  /** All that match, present when `countWhere` was given. */
  readonly count?: bigint;
}

type Row = [
  head: bigint,
  epoch: number,
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
    if (rows.some(row => row[4] !== null && !names.has(row[4]))) await learnNames();
    const pulses: Pulse[] = [];
    for (const [, , , seq, resource, key, ...position] of rows) {
      if (seq === null || resource === null || key === null) continue;
      pulses.push({ sequence: asSequence(seq), resource: names.get(resource) ?? '', key, position });
    }
    const page = { pulses, head: asSequence(first[0]), epoch: first[1] };
    return first[2] === null ? page : { ...page, count: first[2] };
  };
}

function pageStatement(query: ReadQuery): { text: string; values: unknown[]; rowMode: 'array' } {
  const values: unknown[] = [...query.where.values];
  values.push(query.limit);
  const limit = `$${values.length}::bigint`;
  values.push(query.offset ?? 0);
  const offset = `$${values.length}::bigint`;
  let count = 'null::bigint';
  if (query.countWhere !== undefined) {
    const shift = values.length;
    // The count's placeholders begin at $1 as well: they are moved behind those of the page.
    const text = query.countWhere.text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + shift}`);
    values.push(...query.countWhere.values);
    count = `(select count(*) from pulsefeed.entity_event e where ${text})`;
  }
  const position = (query.position ?? []).map((sql, index) => `${sql} as position${index}`);
  const columns = ['e.seq', 'e.resource_id', 'e.key', ...position];
  const outer = ['p.seq', 'p.resource_id', 'p.key', ...position.map((_, index) => `p.position${index}`)];
  // The lateral join keeps the order of its inner side; the head's row makes an empty page carry the head too.
  return {
    text: `
select h.last_seq, h.epoch, ${count}, ${outer.join(', ')}
from pulsefeed.log_head h
left join lateral (
  select ${columns.join(', ')}
  from pulsefeed.entity_event e
  where ${query.where.text}
  order by ${query.orderBy ?? 'e.seq'}
  limit ${limit} offset ${offset}
) p on true`,
    values,
    rowMode: 'array',
  };
}
