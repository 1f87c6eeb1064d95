import type { Db } from '../base/db/index.ts';
import { archivedTo } from '../log/index.ts';
import { readConsumer } from './consumers.ts';
import type { ActiveRules } from './rule-book.ts';

/** Why a consumer sees a record, or does not. */
export interface Explanation {
  readonly consumer: string;
  readonly resource: string;
  readonly key: string;
  /** Served to it right now. */
  readonly visible: boolean;
  /** The log knows the record. */
  readonly known: boolean;
  /** The feeds that the record is in, as numbered. */
  readonly feedsOfRecord: readonly string[];
  /** The feeds that the consumer holds. */
  readonly feedsOfConsumer: readonly string[];
  /** The rules that decide on this resource, by feed. */
  readonly rules: Readonly<Record<string, unknown>>;
  /** Stored parents; the record follows them where a rule inherits. */
  readonly parents: readonly (string | null)[];
  /** The retained pulses of the record that the consumer is served, by number, with the feeds that let it. */
  readonly pulses: readonly { readonly sequence: string; readonly feeds: readonly string[] }[];
  /** Pulses up to this number are archived, and not listed above; null where none are. */
  readonly archivedTo: string | null;
}

/** @throws EE-205 for an unknown consumer. */
export async function explain(
  db: Db,
  rules: ActiveRules,
  consumerName: string,
  resource: string,
  key: string,
): Promise<Explanation> {
  const consumer = await readConsumer(db, consumerName);
  const live = rules.sources.find(source => source.resource === resource)?.live;
  // The same predicate as for a GET: stored feeds, and the record's own rule on the row as it is now.
  const served =
    live === undefined
      ? 'exists (select from state where vis && array(select id from held))'
      : `exists (select from ${live.table} t
  where ${live.match('$3::text')} and ${rules.served(resource, 'array(select id from held)')})`;
  const [state] = await db.query<{
    record: string[] | null;
    held: string[];
    parents: (string | null)[] | null;
    visible: boolean;
  }>({
    text: `
with held as (
  select f.id, f.name from pulsefeed.consumer_feed cf join pulsefeed.feed f on f.id = cf.feed_id where cf.consumer_id = $1
), state as (
  select s.vis, s.parents from pulsefeed.record_state s
  where s.resource_id = (select id from pulsefeed.resource where name = $2) and s.key = $3
)
select (select array(select f.name from pulsefeed.feed f where f.id = any (vis) order by f.name) from state) as record,
  array(select name from held order by name) as held,
  (select parents from state) as parents,
  ${served} as visible`,
    values: [consumer.id, resource, key],
  });
  const archived = await archivedTo(db);
  const pulses = await db.query<{ seq: bigint; feeds: string[] }>({
    text: `
select e.seq, array(
  select f.name from pulsefeed.consumer_feed cf join pulsefeed.feed f on f.id = cf.feed_id
  where cf.consumer_id = $1 and f.id = any (a.feeds) order by f.name
) as feeds
from pulsefeed.entity_event e
join pulsefeed.audience a on a.id = e.audience_id
where e.resource_id = (select id from pulsefeed.resource where name = $2) and e.key = $3
  and a.feeds && array(select feed_id from pulsefeed.consumer_feed where consumer_id = $1)
order by e.seq`,
    values: [consumer.id, resource, key],
  });
  return {
    consumer: consumer.name,
    resource,
    key,
    visible: state?.visible ?? false,
    known: state?.record != null,
    feedsOfRecord: state?.record ?? [],
    feedsOfConsumer: state?.held ?? [],
    rules: Object.fromEntries(
      Object.entries(rules.feeds).map(([feed, byResource]) => [
        feed,
        byResource[resource] ?? byResource['*'] ?? null,
      ]),
    ),
    parents: state?.parents ?? [],
    pulses: pulses.map(({ seq, feeds }) => ({ sequence: seq.toString(), feeds })),
    archivedTo: archived === 0n ? null : archived.toString(),
  };
}
