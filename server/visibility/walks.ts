import { keyText, type ResourceTable } from '../base/catalog/index.ts';
import type { Db, Queryable, Statement } from '../base/db/index.ts';
import { columnSql } from '../edm/index.ts';
import {
  Archive,
  archivedTo,
  queueAll,
  queueGained,
  queueLost,
  queueLostInArchive,
  queueMatching,
  type WalkPart,
  waitingChanges,
} from '../log/index.ts';
import type { RuleBook } from './rule-book.ts';

/** A walk as it stands. */
export interface Walk {
  readonly id: bigint;
  readonly kind: 'rules' | 'value' | 'grant' | 'revoke';
  readonly consumer: string | null;
  readonly privateFeed: string | null;
  readonly feeds: readonly number[];
  readonly otherFeeds: readonly number[];
  readonly resourceId: number | null;
  readonly afterKey: string | null;
  /** revoke: how far it has come in the archive, which follows the table; null before. */
  readonly archivedAfter: bigint | null;
  readonly queued: bigint;
  readonly startedAt: Date;
}

/** What one step of walking did. */
export type WalkStep =
  | { readonly kind: 'none' }
  /** The sequencer has enough to do, or another process walks. */
  | { readonly kind: 'paused' }
  | { readonly kind: 'queued'; readonly walk: Walk; readonly queued: number; readonly finished: boolean };

export interface WalkOptions {
  readonly db: Db;
  readonly rules: RuleBook;
  readonly tables: readonly ResourceTable[];
  /** Records looked at in one step. */
  readonly chunk: number;
  /** Where archived pulses are read. Without it a revocation waits while there are any. */
  readonly archive?: Archive;
}

const openWalk = `
select w.id, w.kind, c.name as consumer, f.name as "privateFeed", w.feeds, w.other_feeds as "otherFeeds",
  w.resource_id as "resourceId", w.after_key as "afterKey", w.archived_after as "archivedAfter", w.queued, w.started_at as "startedAt"
from pulsefeed.visibility_walk w
left join pulsefeed.consumer c on c.id = w.consumer_id
left join pulsefeed.feed f on f.id = c.private_feed_id
where w.finished_at is null
order by w.id
limit 1`;

/** The walk that is being worked on, if there is one. */
export async function currentWalk(db: Queryable): Promise<Walk | undefined> {
  const [walk] = await db.query<Walk>({ text: openWalk });
  return walk;
}

/**
 * Queues the next part of the oldest open walk, in one transaction with its place: killed anywhere, it goes on where it
 * stood. Any number of processes may call this; one walks, the others find it locked.
 */
export async function stepWalk(options: WalkOptions): Promise<WalkStep> {
  const { db, chunk } = options;
  return db.transaction(async tx => {
    const [walk] = await tx.query<Walk>({ text: `${openWalk} for update of w skip locked` });
    if (walk === undefined) return { kind: (await currentWalk(tx)) === undefined ? 'none' : 'paused' };
    const [backlog] = await tx.query<{ waiting: number }>(waitingChanges(2 * chunk));
    if ((backlog?.waiting ?? 0) >= 2 * chunk) return { kind: 'paused' };
    const { queued, end, archivedAfter } = await queuePart(tx, walk, options);
    const finished = end === undefined && archivedAfter === undefined;
    await tx.query({
      text: `
update pulsefeed.visibility_walk
set queued = queued + $2, resource_id = coalesce($3, resource_id), after_key = coalesce($4, after_key),
  archived_after = coalesce($5, archived_after), finished_at = case when $6 then now() end
where id = $1`,
      values: [walk.id, queued, end?.resource ?? null, end?.key ?? null, archivedAfter ?? null, finished],
    });
    return { kind: 'queued', walk, queued, finished };
  });
}

interface QueuedPart {
  readonly queued: number;
  readonly end: { readonly resource: number; readonly key: string } | undefined;
  /** Set while a revocation goes on in the archive. */
  readonly archivedAfter?: bigint;
}

async function queuePart(
  tx: Queryable,
  walk: Walk,
  { rules, tables, chunk, archive = new Archive(undefined) }: WalkOptions,
): Promise<QueuedPart> {
  if (walk.kind === 'value')
    return { queued: await queueValues(tx, walk, await rules.refresh(), tables), end: undefined };
  if (walk.archivedAfter !== null) {
    const { feeds, privateFeed, archivedAfter } = walk;
    const part = await queueLostInArchive(tx, archive, archivedAfter, feeds, privateFeed ?? '', chunk);
    return {
      queued: part.queued,
      end: undefined,
      ...(part.end === undefined ? {} : { archivedAfter: part.end }),
    };
  }
  const [row] = await tx.query<WalkPart>(partStatement(walk, chunk));
  const queued = row?.queued ?? 0;
  if (row?.end_resource != null && row.end_key !== null)
    return { queued, end: { resource: row.end_resource, key: row.end_key } };
  const archived = walk.kind === 'revoke' && (await archivedTo(tx)) > 0n;
  return { queued, end: undefined, ...(archived ? { archivedAfter: 0n } : {}) };
}

function partStatement(walk: Walk, chunk: number): Statement {
  const place = { resourceId: walk.resourceId, key: walk.afterKey };
  const { feeds, otherFeeds } = walk;
  switch (walk.kind) {
    case 'grant':
      return queueGained(place, feeds, otherFeeds, walk.privateFeed ?? '', chunk);
    case 'revoke':
      return queueLost(place, feeds, walk.privateFeed ?? '', chunk);
    default:
      return queueAll(place, chunk);
  }
}

/** Records that have the value of a new feed in the field that its rule compares. */
async function queueValues(
  tx: Queryable,
  walk: Walk,
  rules: Awaited<ReturnType<RuleBook['refresh']>>,
  tables: readonly ResourceTable[],
): Promise<number> {
  const fresh = await tx.query<{ value: string; definition: string }>({
    text: `
select f.value, d.name as definition from pulsefeed.feed f
join pulsefeed.feed_definition d on d.id = f.definition_id where f.id = any ($1)`,
    values: [[...walk.feeds]],
  });
  let queued = 0;
  for (const rule of rules.rules) {
    const values = fresh.filter(({ definition }) => definition === rule.feed).map(({ value }) => value);
    const table = tables.find(({ config }) => config.name === rule.resource);
    if (values.length === 0 || table === undefined) continue;
    for (const { field } of rule.ways) {
      if (field === undefined) continue;
      const condition = `(${columnSql(field.property.column, '"t"')})::text = any ($1::text[])`;
      const [row] = await tx.query<{ queued: number }>(
        queueMatching(rule.resource, table.quoted, keyText(table, 't'), condition, [values]),
      );
      queued += row?.queued ?? 0;
    }
  }
  return queued;
}
