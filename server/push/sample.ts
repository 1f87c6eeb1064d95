import type { Queryable } from '../base/db/index.ts';
import { breakerSql } from './subscription-type.ts';

/** How push stands, for metrics. Numbers are counts; a gauge is a double, and so are these. */
export interface PushSample {
  readonly byState: Readonly<Record<string, number>>;
  readonly byBreaker: Readonly<Record<string, number>>;
  /** Numbers of the log between the head and the cursor: of the one furthest behind, and of all together. */
  readonly lagEvents: { readonly most: number; readonly sum: number };
  /** Age of the oldest number that the one furthest behind has still to look at. */
  readonly lagSeconds: number;
  readonly deadLetters: number;
}

/** Reads how push stands. Only active subscriptions lag: a paused one waits for a person. */
export async function samplePush(db: Queryable): Promise<PushSample> {
  const [row] = await db.query<{
    states: Record<string, number> | null;
    breakers: Record<string, number> | null;
    most: number | null;
    sum: number | null;
    seconds: number | null;
    dead: number;
  }>({
    text: `
with s as (
  select state, ${breakerSql('p')} as breaker,
    greatest(h.last_seq - cursor_seq, 0) as behind, cursor_seq
  from pulsefeed.push_subscription p cross join pulsefeed.log_head h
)
select (select jsonb_object_agg(state, n) from (select state, count(*) as n from s group by state) x) as states,
  (select jsonb_object_agg(breaker, n) from (select breaker, count(*) as n from s where state = 'active' group by breaker) x)
    as breakers,
  (select max(behind)::float8 from s where state = 'active') as most,
  (select sum(behind)::float8 from s where state = 'active') as sum,
  (select extract(epoch from now() - (
    select t.at from pulsefeed.log_time t
    where t.seq > (select min(cursor_seq) from s where state = 'active' and behind > 0)
    order by t.seq limit 1
  ))::float8) as seconds,
  (select count(*)::int from pulsefeed.push_dead_letter where state in ('dead', 'queued')) as dead`,
  });
  return {
    byState: row?.states ?? {},
    byBreaker: row?.breakers ?? {},
    lagEvents: { most: row?.most ?? 0, sum: row?.sum ?? 0 },
    lagSeconds: Math.max(0, row?.seconds ?? 0),
    deadLetters: row?.dead ?? 0,
  };
}
