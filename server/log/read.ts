import type { Queryable, Statement } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { Archive } from './archive/archive.ts';
import { type ArchivedRows, gather } from './archive/gather.ts';
import { intactSql } from './epoch-sql.ts';
import type { PlaceInLog, Standing } from './horizon.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';
import {
  eventFeedTypes,
  everyonesPage,
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
  /** No pulse above this can match `where`: where a search of the archive ends. */
  readonly upTo?: bigint;
  /** As `above`, for `countWhere`. */
  readonly countAbove?: bigint;
  /** True when `where` says no more than that it is above `above`. Then the postings alone tell a narrow feed's page. */
  readonly seekOnly?: boolean;
  /** Whether each pulse is to tell the feeds of the reader that it is for. */
  readonly feedTypes?: boolean;
  /** `order by` list, ending in the sequence; its placeholders are among those of `where`. Absent: ascending. */
  readonly orderBy?: string;
  /** True when `orderBy` says no more than newest first: such a page seldom reaches what is archived. */
  readonly newestFirst?: boolean;
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
  /** The last number that is archived, and not in the log's table any more. */
  readonly archivedTo: bigint;
  /** Stands for the set of feeds that the reader held. */
  readonly heldDigest: string | null;
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
  archivedTo: bigint,
  heldDigest: string | null,
  seq: bigint | null,
  resource: number | null,
  key: string | null,
  feeds: string[] | null,
  ...position: (string | null)[],
];

/**
 * Reads pages. Holds the names of resources, which are interned once and never change. Numbers that were archived are
 * read from `archive` and joined with the table's in the page's own statement.
 */
export function createReader(db: Queryable, archive: Archive): (query: ReadQuery) => Promise<ReadPage> {
  const names = new Map<number, string>();

  async function learnNames(): Promise<void> {
    for (const row of await db.query<{ id: number; name: string }>({
      text: 'select id, name from pulsefeed.resource',
    })) {
      names.set(row.id, row.name);
    }
  }

  async function readPage(query: ReadQuery, part?: ArchivedPart): Promise<ReadPage> {
    const rows = await db.query<Row>(pageStatement(query, part));
    const first = rows[0];
    if (first === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
    if (rows.some(([, , , , , , , , , , , resource]) => resource !== null && !names.has(resource)))
      await learnNames();
    const pulses: Pulse[] = [];
    for (const [, , , , , , , , , , seq, resource, key, feeds, ...position] of rows) {
      if (seq === null || resource === null || key === null) continue;
      const pulse = { sequence: asSequence(seq), resource: names.get(resource) ?? '', key, position };
      pulses.push(query.feedTypes === true ? { ...pulse, feedTypes: feeds ?? [] } : pulse);
    }
    const [head, epoch, ruleVersion, count, intact, horizon, lostAfter, lostTo, archivedTo, heldDigest] =
      first;
    const gap = lostAfter === null || lostTo === null ? undefined : { lostAfter, lostTo };
    const place = { gap, horizon: horizon ?? 0n };
    const page = {
      ...{ pulses, head: asSequence(head), epoch, ruleVersion, intact, place },
      ...{ archivedTo, heldDigest },
    };
    return count === null ? page : { ...page, count };
  }

  // Where the archive ended when somebody looked last: below that a page need not be asked of the table first.
  let known = 0n;
  return async query => {
    const page = await readThrough(db, archive, query, { readPage, known });
    known = page.archivedTo;
    return page;
  };
}

/** Archived pulses that go into a page. */
interface ArchivedPart {
  readonly rows: ArchivedRows;
  /** The page ends here: what lies above in the archive was not looked at. Absent: the table follows. */
  readonly scannedTo: bigint | undefined;
}

type PageReader = (query: ReadQuery, part?: ArchivedPart) => Promise<ReadPage>;

/** The archive moves on once in seconds at most, and what a consumer holds when somebody changes it. */
const mostTries = 10;

/**
 * Reads a page, through the archive where it begins there. Whether it does, the page's own snapshot says; and what was
 * found in the archive is used only if in that snapshot the archive still ended in the same place and the reader held
 * the same feeds as when it was looked for. Then the page is what one statement over everything would have shown.
 * @throws EE-112 for what is not answered over archived numbers, EE-304 when the archive cannot be read.
 */
async function readThrough(
  db: Queryable,
  archive: Archive,
  query: ReadQuery,
  { readPage, known }: { readonly readPage: PageReader; readonly known: bigint },
): Promise<ReadPage> {
  const { above = 0n, limit } = query;
  const reaches = ({ archivedTo, pulses }: ReadPage) =>
    limit > 0 && above < archivedTo && !(query.newestFirst === true && pulses.length >= limit);
  const plain = query.orderBy === undefined && query.countWhere === undefined && limit > 0;
  let page = plain && above < known ? undefined : await readPage(query);
  for (let tries = 0; tries < mostTries; tries += 1) {
    if (page !== undefined) {
      refuseCount(query, page.archivedTo);
      if (!reaches(page)) return page;
      if (query.orderBy !== undefined) throw notArchived('$orderby', page.archivedTo);
    }
    const found = await searchArchive(db, archive, query);
    const { archivedTo, heldDigest } = found;
    page = await readPage(query, found);
    if (page.archivedTo === archivedTo && page.heldDigest === heldDigest) return page;
  }
  throw new PulsefeedError('EE-304', 'The archive changes faster than it can be read; try again.');
}

/** Every archived pulse would have to be looked at for a count, in each page anew. */
function refuseCount({ countWhere, countAbove = 0n }: ReadQuery, archivedTo: bigint): void {
  if (countWhere !== undefined && countAbove < archivedTo) throw notArchived('$count', archivedTo);
}

function notArchived(option: string, archivedTo: bigint): PulsefeedError {
  return new PulsefeedError(
    'EE-112',
    `Numbers up to ${archivedTo} are archived, and ${option} is not answered over them. Leave it out, or ask with EntityEventSequence gt ${archivedTo}.`,
    { target: option },
  );
}

async function searchArchive(
  db: Queryable,
  archive: Archive,
  query: ReadQuery,
): Promise<ArchivedPart & { readonly archivedTo: bigint; readonly heldDigest: string | null }> {
  const { above = 0n, limit, offset = 0, feedTypes = false } = query;
  const held = query.held?.(1);
  const [found] = await db.query<{
    archived_to: bigint;
    digest: string | null;
    shared: number[];
    all: number[];
  }>({
    text: `${held === undefined ? heldByNobody : heldFeeds(held.text)}
select (select archived_to from pulsefeed.archive), ${heldDigestSql} as digest,
  array(select id from held ${held === undefined ? '' : 'where bit is not null'}) as shared, array(select id from held) as all`,
    values: held === undefined ? [] : [...held.values],
  });
  const { archived_to: archivedTo = 0n, digest = null, shared = [], all = [] } = found ?? {};
  // Postings stay in the database: of narrow feeds the archive is asked only for the feeds of each pulse.
  const feeds = held === undefined ? undefined : new Set(feedTypes ? all : shared);
  const { rows, scannedTo } = await gather(db, archive, {
    above,
    upTo: query.upTo,
    archivedTo,
    feeds,
    sharedOnly: !feedTypes,
    need: Math.min(limit + offset, mostGathered),
    ...(query.seekOnly === true ? {} : { keep: rows => matching(db, query, rows) }),
  });
  if (rows.seqs.length >= mostGathered && limit + offset > mostGathered)
    throw notArchived('$skip', archivedTo);
  return {
    rows,
    scannedTo: scannedTo < archivedTo ? scannedTo : undefined,
    archivedTo,
    heldDigest: held === undefined ? null : digest,
  };
}

/** Rows that one page takes from the archive; the largest page is 100,000. */
const mostGathered = 200_000;

const heldDigestSql = `(select md5(string_agg(id::text, ',' order by id)) from held)`;

/** The numbers of the rows that fulfil `where`. */
async function matching(db: Queryable, query: ReadQuery, rows: ArchivedRows): Promise<ReadonlySet<string>> {
  if (rows.seqs.length === 0) return new Set();
  const values: unknown[] = [...query.where.values];
  const held = query.held?.(values.length + 1);
  if (held !== undefined) values.push(...held.values);
  const archived = archivedSql(rows, (value, cast) => `$${values.push(value)}::${cast}`);
  const kept = await db.query<{ seq: bigint }>({
    text: `${held === undefined ? heldByNobody : heldFeeds(held.text)}, ${archived}
select e.seq from archived e where ${query.where.text}`,
    values,
  });
  return new Set(kept.map(({ seq }) => seq.toString()));
}

type Bind = (value: unknown, cast: string) => string;

function archivedSql({ seqs, resourceIds, keys, audienceIds }: ArchivedRows, bind: Bind): string {
  const columns = [
    bind(seqs, 'bigint[]'),
    bind(resourceIds, 'smallint[]'),
    bind(keys, 'text[]'),
    bind(audienceIds, 'integer[]'),
  ];
  return `archived as materialized (
  select seq, resource_id, key collate "C" as key, audience_id
  from unnest(${columns.join(', ')}) a (seq, resource_id, key, audience_id)
)`;
}

function pageStatement(query: ReadQuery, part: ArchivedPart | undefined): Statement {
  const { feedTypes = false } = query;
  const values: unknown[] = [...query.where.values];
  const bind: Bind = (value, cast) => `$${values.push(value)}::${cast}`;
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
  const archived = part === undefined ? '' : `, ${archivedSql(part.rows, bind)}`;
  const end = part?.scannedTo === undefined ? undefined : bind(part.scannedTo, 'bigint');
  const source = sourceOf(query, held !== undefined, {
    ...{ above, limit, offset },
    ...(part === undefined ? {} : { archived: { end } }),
  });
  const nobody = feedTypes || part !== undefined ? heldByNobody : '';
  const place = placeOf(query.standing, held !== undefined, bind);
  // Only a page through the archive has to know whether the same feeds were held when it was looked through.
  const digest = held !== undefined && part !== undefined ? heldDigestSql : 'null::text';
  // The lateral join keeps the order of its inner side; the head's row makes an empty page carry the head too.
  return {
    text: `${held === undefined ? nobody : heldFeeds(held.text)}${archived}
select h.last_seq, h.epoch, h.rule_version, ${count}, ${intactSql('h')}, ${place.columns},
  (select archived_to from pulsefeed.archive), ${digest}, ${outer.join(', ')}
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
  place: {
    readonly above: string;
    readonly limit: string;
    readonly offset: string;
    readonly archived?: { readonly end: string | undefined };
  },
): { from: string; order: string } {
  const order = orderBy ?? 'e.seq';
  if (!held && place.archived !== undefined) {
    return { from: `(${everyonesPage({ where: where.text, ...place, archived: place.archived })}) e`, order };
  }
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
