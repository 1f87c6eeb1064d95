import type { Queryable } from '../base/db/index.ts';

/** A subscription for the operator; numbers of the log as text, exact in JSON. */
export interface Listed {
  readonly id: string;
  readonly consumer: string;
  readonly state: string;
  readonly reason: string | null;
  readonly callbackUrl: string;
  readonly filter: string | null;
  readonly cursor: string;
  readonly behind: string;
  readonly failures: number;
  readonly deadLetters: string;
}

/** All subscriptions by consumer, or the one with this id. */
export function listSubscriptions(db: Queryable, id?: string): Promise<Listed[]> {
  return db.query<Listed>({
    text: `
select s.id, c.name as consumer, s.state, s.reason, s.callback_url as "callbackUrl", s.filter,
  s.cursor_seq::text as cursor, greatest(h.last_seq - s.cursor_seq, 0)::text as behind, s.failures,
  (select count(*)::text from pulsefeed.push_dead_letter d
   where d.subscription_id = s.id and d.state in ('dead', 'queued')) as "deadLetters"
from pulsefeed.push_subscription s
join pulsefeed.consumer c on c.id = s.consumer_id
cross join pulsefeed.log_head h
where $1::text is null or s.id = $1
order by c.name, s.created_at, s.id`,
    values: [id ?? null],
  });
}

/** A try, for the operator. */
export interface ListedAttempt {
  readonly at: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly attempt: number;
  readonly after: string;
  readonly upTo: string;
  readonly events: number;
  readonly ms: number;
}

/** The last 20 tries of a subscription, the newest first. */
export function recentAttempts(db: Queryable, id: string): Promise<ListedAttempt[]> {
  return db.query<ListedAttempt>({
    text: `
select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, outcome, status, attempt,
  after_seq::text as after, up_to_seq::text as "upTo", events, ms
from pulsefeed.push_attempt where subscription_id = $1 order by id desc limit 20`,
    values: [id],
  });
}

/** A refused event, for the operator. */
export interface ListedDeadLetter {
  readonly sequence: string;
  readonly resource: string;
  readonly key: string;
  readonly state: string;
  readonly status: number | null;
  readonly excerpt: string | null;
}

/** The dead letters of a subscription in the order of their numbers, 100 at most. */
export function deadLettersOf(db: Queryable, id: string): Promise<ListedDeadLetter[]> {
  return db.query<ListedDeadLetter>({
    text: `
select seq::text as sequence, resource, key, state, status, excerpt
from pulsefeed.push_dead_letter where subscription_id = $1 order by pulsefeed.push_dead_letter.seq limit 100`,
    values: [id],
  });
}

/** A worker with what it is at. */
export interface ListedWorker {
  readonly id: string;
  readonly name: string;
  readonly alive: boolean;
  readonly busy: number;
  readonly slots: number;
  readonly delivered: string;
  /** Subscriptions it holds a lease on. */
  readonly serves: readonly string[];
}

/** The workers, those that died lately among them. */
export function listWorkers(db: Queryable): Promise<ListedWorker[]> {
  return db.query<ListedWorker>({
    text: `
select w.id::text, w.name, w.alive_until > clock_timestamp() as alive, w.busy, w.slots, w.delivered::text,
  array(
    select s.id from pulsefeed.push_subscription s
    where s.worker_id = w.id and s.lease_until > clock_timestamp() order by s.id
  ) as serves
from pulsefeed.push_worker w
order by w.id`,
  });
}
