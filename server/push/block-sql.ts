import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { intactSql, type SqlFragment } from '../log/index.ts';
import type { AllowedMany } from '../visibility/index.ts';

/** Which part of the log is read, and for whom. */
export interface BlockQuery {
  /** Pulses above this, and up to `upTo` where it is given. */
  readonly after: bigint;
  readonly upTo?: bigint;
  readonly consumerIds: readonly number[];
  /** A condition over alias `e`, its placeholders from the index given. */
  readonly where: (firstParameter: number) => SqlFragment;
  /** The most pulses that are read. */
  readonly limit: number;
}

/** A consumer as the statement found it: what it holds, as bits of shared feeds and as narrow feeds. */
export interface BlockMember {
  readonly consumerId: number;
  readonly mask: bigint;
  readonly narrow: readonly number[];
  /** The last number up to which removals were dropped from a feed that it holds; 0 when none was. */
  readonly horizon: bigint;
}

/** A pulse with the feeds by which the consumers asked for may see it. */
export interface BlockPulse {
  readonly sequence: bigint;
  readonly shared: bigint;
  readonly narrow: readonly number[];
  readonly resourceId: number;
  readonly key: string;
}

/** A part of the log and its readers, of one snapshot. */
export interface RawBlock {
  readonly head: bigint;
  readonly epoch: number;
  readonly ruleVersion: number;
  /** False when the head's row was restored and nobody has opened a new epoch yet. */
  readonly intact: boolean;
  /** Numbers up to here are archived: they are not among the pulses. */
  readonly archivedTo: bigint;
  readonly members: readonly BlockMember[];
  /** In the order of their numbers. */
  readonly pulses: readonly BlockPulse[];
}

/** One row for the head, one for each member, one for each pulse; what is not its own is null. */
type Row = [
  head: bigint | null,
  epoch: number | null,
  ruleVersion: number | null,
  intact: boolean | null,
  consumer: number | null,
  seq: bigint | null,
  mask: bigint | null,
  narrow: number[] | null,
  resource: number | null,
  key: string | null,
  horizon: bigint | null,
  archivedTo: bigint | null,
];

const none: readonly number[] = [];

/**
 * Reads the pulses that any of the consumers may see, and what each of them holds, in one statement and one snapshot:
 * who may see which pulse follows from both and from nothing that was read before (NOSKIP, AUDIENCE).
 */
export async function readRawBlock(
  db: Queryable,
  allowed: AllowedMany,
  query: BlockQuery,
): Promise<RawBlock> {
  const values: unknown[] = [query.after, query.upTo ?? null, query.limit];
  const holders = allowed.holders(values.length + 1, query.consumerIds);
  values.push(...holders.values);
  const where = query.where(values.length + 1);
  values.push(...where.values);
  const rows = await db.query<Row>({
    text: blockText(holders.text, where.text, allowed.everyone),
    values,
    rowMode: 'array',
  });
  let log: Omit<RawBlock, 'members' | 'pulses'> | undefined;
  const members: BlockMember[] = [];
  const pulses: BlockPulse[] = [];
  for (const row of rows) {
    const [
      head,
      epoch,
      ruleVersion,
      intact,
      consumerId,
      sequence,
      mask,
      narrow,
      resourceId,
      key,
      horizon,
      archivedTo,
    ] = row;
    if (sequence !== null && resourceId !== null && key !== null) {
      pulses.push({ sequence, shared: mask ?? 0n, narrow: narrow ?? none, resourceId, key });
    } else if (consumerId !== null) {
      members.push({ consumerId, mask: mask ?? 0n, narrow: narrow ?? none, horizon: horizon ?? 0n });
    } else if (head !== null) {
      log = {
        ...{ head, epoch: epoch ?? 0, ruleVersion: ruleVersion ?? 0, intact: intact === true },
        archivedTo: archivedTo ?? 0n,
      };
    }
  }
  if (log === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
  pulses.sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
  return { ...log, members, pulses };
}

function blockText(holders: string, where: string, everyone: boolean): string {
  const range = (alias: string) => `${alias}.seq > $1::bigint and ($2::bigint is null or ${alias}.seq <= $2)`;
  return `
with holder as materialized (
  ${holders}
), held as materialized (
  select o.consumer_id, f.id, f.bit from holder o left join pulsefeed.feed f on f.id = o.feed_id
), member as materialized (
  select consumer_id, coalesce(bit_or(1::bigint << bit), 0) as mask,
    array_agg(id) filter (where bit is null and id is not null) as narrow,
    max((select t.seq from pulsefeed.tombstone_horizon t where t.feed_id = coalesce(held.id, 1))) as horizon
  from held group by consumer_id
), ${everyone ? everyonesPage(range, where) : heldPage(range, where)}
select h.last_seq as head, h.epoch, h.rule_version, ${intactSql('h')} as intact, null::integer as consumer,
  null::bigint as seq, null::bigint as mask, null::integer[] as narrow, null::smallint as resource_id, null::text as key,
  null::bigint as horizon, (select archived_to from pulsefeed.archive) as archived_to
from pulsefeed.log_head h
union all
select null, null, null, null, consumer_id, null, mask, narrow, null, null, horizon, null from member
union all
select null, null, null, null, null, seq, shared, narrow, resource_id, key, null, null from page`;
}

function everyonesPage(range: (alias: string) => string, where: string): string {
  return `page as materialized (
  select e.seq, e.shared, null::integer[] as narrow, e.resource_id, e.key
  from pulsefeed.entity_event e
  where ${range('e')} and ${where}
  order by e.seq limit $3::bigint
)`;
}

/**
 * Shared feeds by walking the log and testing bits, narrow ones through their postings, as a page for one reader is read.
 * A pulse among the first has all its postings: no feed has more of them below it than the limit.
 */
function heldPage(range: (alias: string) => string, where: string): string {
  return `mask as materialized (
  select coalesce(bit_or(mask), 0) as bits from member
), walked as materialized (
  select e.seq from pulsefeed.entity_event e
  where (select bits from mask) <> 0 and (e.shared & (select bits from mask)) <> 0 and ${range('e')} and ${where}
  order by e.seq limit $3::bigint
), posted as materialized (
  select n.seq, array_agg(f.id) as narrow
  from (select distinct id from held where bit is null and id is not null) f
  cross join lateral (
    select p.seq from pulsefeed.event_feed p
    join pulsefeed.entity_event e on e.seq = p.seq
    where p.feed_id = f.id and ${range('p')} and ${where}
    order by p.seq limit $3::bigint
  ) n
  group by n.seq
), seen as materialized (
  select seq from walked union select seq from posted order by seq limit $3::bigint
), page as materialized (
  select e.seq, e.shared, p.narrow, e.resource_id, e.key
  from seen s
  cross join lateral (select * from pulsefeed.entity_event e where e.seq = s.seq offset 0) e
  left join posted p on p.seq = s.seq
)`;
}
