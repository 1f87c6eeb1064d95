import type { Queryable, Statement } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { intactSql } from './epoch-sql.ts';
import type { PlaceInLog, Standing } from './horizon.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';
import {
  eventFeedTypes,
  heldByNobody,
  heldFeeds,
  visibleNumbers,
  visiblePage,
  visibleTo,
} from './visible-sql.ts';

export { eventFeedTypes };

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
  /** What `feedTypes` asked for: names of feed definitions, never a private feed; empty where nothing is held. */
  readonly feedTypes?: readonly string[];
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
  /** True when `where` says no more than that it is above `above`. Then the postings alone tell a narrow feed's page. */
  readonly seekOnly?: boolean;
  /** Whether each pulse is to tell the feeds of the reader that it is for. */
  readonly feedTypes?: boolean;
  /** `order by` list, ending in the sequence; its placeholders are among those of `where`. Absent: ascending. */
  readonly orderBy?: string;
  /** The values of the order for each pulse, as SQL text expressions. */
  readonly position?: readonly string[];
  readonly limit: number;
  readonly offset?: number;
  /** Where the reader stands; absent for questions that follow no walk. A place that is lost is refused (EPOCH). */
  readonly standing?: Standing;
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

/** A page with what its snapshot tells about the log's own history. */
export interface ReadPage extends EventPage {
  /** False when the head's row was restored and nobody has opened a new epoch yet. */
  readonly intact: boolean;
  readonly place: PlaceInLog;
}

type Row = [
  head: bigint,
  epoch: number,
  ruleVersion: number,
  count: bigint | null,
  intact: boolean,
  horizon: bigint | null,
  lostAfter: bigint | null,
  lostTo: bigint | null,
  seq: bigint | null,
  resource: number | null,
  key: string | null,
  feeds: string[] | null,
  ...position: (string | null)[],
];

/** Reads pages. Holds the names of resources, which are interned once and never change. */
export function createReader(db: Queryable): (query: ReadQuery) => Promise<ReadPage> {
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
    if (rows.some(([, , , , , , , , , resource]) => resource !== null && !names.has(resource)))
      await learnNames();
    const pulses: Pulse[] = [];
    for (const [, , , , , , , , seq, resource, key, feeds, ...position] of rows) {
      if (seq === null || resource === null || key === null) continue;
      const pulse = { sequence: asSequence(seq), resource: names.get(resource) ?? '', key, position };
      pulses.push(query.feedTypes === true ? { ...pulse, feedTypes: feeds ?? [] } : pulse);
    }
    const [head, epoch, ruleVersion, count, intact, horizon, lostAfter, lostTo] = first;
    const gap = lostAfter === null || lostTo === null ? undefined : { lostAfter, lostTo };
    const place = { gap, horizon: horizon ?? 0n };
    const page = { pulses, head: asSequence(head), epoch, ruleVersion, intact, place };
    return count === null ? page : { ...page, count };
  };
}

function pageStatement(query: ReadQuery): Statement {
  const { feedTypes = false } = query;
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
        : `(select count(*) from (${visibleNumbers({ where, above: '0', feedTypes })}) v)`;
  }
  const position = (query.position ?? []).map((sql, index) => `${sql} as position${index}`);
  const feeds = feedTypes ? eventFeedTypes('e') : 'null::text[]';
  const columns = ['e.seq', 'e.resource_id', 'e.key', `${feeds} as feeds`, ...position];
  const names = ['seq', 'resource_id', 'key', 'feeds', ...position.map((_, index) => `position${index}`)];
  const outer = names.map(name => `p.${name}`);
  const source = sourceOf(query, held !== undefined, { above, limit, offset });
  const nobody = feedTypes ? heldByNobody : '';
  const place = placeOf(query.standing, held !== undefined, bind);
  // The lateral join keeps the order of its inner side; the head's row makes an empty page carry the head too.
  return {
    text: `${held === undefined ? nobody : heldFeeds(held.text)}
select h.last_seq, h.epoch, h.rule_version, ${count}, ${intactSql('h')}, ${place.columns}, ${outer.join(', ')}
from pulsefeed.log_head h
${place.join}
left join lateral (
  select ${columns.join(', ')}
  from ${source.from}
  order by ${source.order}
  limit ${limit} offset ${offset}
) p on true`,
    values,
    rowMode: 'array',
  };
}

/** Where the page's rows come from as alias `e`, and their order. */
function sourceOf(
  { where, orderBy, seekOnly = false, feedTypes = false }: ReadQuery,
  held: boolean,
  place: { readonly above: string; readonly limit: string; readonly offset: string },
): { from: string; order: string } {
  const order = orderBy ?? 'e.seq';
  if (!held) return { from: `pulsefeed.entity_event e where ${where.text}`, order };
  const wanted = { where: where.text, above: place.above, feedTypes };
  // In the order of the log each part need not yield more than the page; in any other all of it is ordered.
  const visible = orderBy === undefined ? visiblePage({ ...wanted, ...place, seekOnly }) : visibleTo(wanted);
  return { from: `(${visible}) e`, order };
}

/** The gap around the reader's place, and the horizon of what it holds: both tables have a row a feed or epoch at most. */
function placeOf(
  standing: Standing | undefined,
  held: boolean,
  bind: (value: unknown, cast: string) => string,
): { columns: string; join: string } {
  if (standing === undefined) return { columns: 'null::bigint, null::bigint, null::bigint', join: '' };
  const at = bind(standing.at, 'bigint');
  const feeds = held ? 'in (select id from held)' : '= 1';
  return {
    columns: `(select max(t.seq) from pulsefeed.tombstone_horizon t where t.feed_id ${feeds}), g.lost_after, g.lost_to`,
    join: `
left join lateral (
  select lost_after, lost_to from pulsefeed.epoch where ${at} > lost_after and ${at} <= lost_to order by epoch limit 1
) g on true`,
  };
}
