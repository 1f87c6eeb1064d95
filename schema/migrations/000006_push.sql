-- Push. Older servers may keep running: they deliver nothing and know none of these tables.

-- The processes that deliver. Whoever has not said that it is alive by alive_until is dead, and what it held is free.
create table pulsefeed.push_worker (
  id bigint generated always as identity primary key,
  name text not null,
  slots integer not null,
  -- Deliveries under way, and delivered since it began.
  busy integer not null default 0,
  delivered bigint not null default 0,
  started_at timestamptz not null default now(),
  alive_until timestamptz not null
) with (fillfactor = 50);

-- What a consumer's endpoint asks for. The secret part is sealed with PULSEFEED_SECRET_KEY and never read out.
create table pulsefeed.push_credential (
  id text collate "C" primary key,
  consumer_id integer not null references pulsefeed.consumer on delete cascade,
  type text not null check (type in ('bearer', 'client_credentials', 'certificate')),
  sealed bytea not null,
  created_at timestamptz not null default now()
);
create index push_credential_consumer on pulsefeed.push_credential (consumer_id);

-- A cursor over the log, read through the same policy as every reader: no row per event and endpoint.
create table pulsefeed.push_subscription (
  id text collate "C" primary key,
  consumer_id integer not null references pulsefeed.consumer on delete cascade,
  filter text,
  callback_url text not null,
  credential_id text collate "C" references pulsefeed.push_credential,
  source text,
  max_events integer not null,
  max_bytes integer not null,
  max_wait_ms integer not null,
  requests_per_minute integer not null,
  expand_record boolean not null,
  signature text not null check (signature in ('hmac', 'ed25519', 'both')),
  on_rejected text not null check (on_rejected in ('dead-letter', 'pause')),
  reject_tries integer not null,
  -- Seconds before each further try, the last one repeated; full jitter is taken from them.
  retry_schedule integer[] not null,
  retry_for_s integer not null,
  -- Sealed: {hmac, ed25519}. The one before it stays good until previous_until.
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  -- Grows with each change by a person, so that a worker's copy of the settings is known to be stale.
  version integer not null default 1,
  created_at timestamptz not null default now(),

  state text not null default 'active' check (state in ('active', 'paused', 'disabled', 'must-reinitialise')),
  reason text,
  state_at timestamptz not null default now(),
  -- Everything up to here was taken by the endpoint, or is in the dead letters.
  cursor_seq bigint not null,
  -- The epoch that the cursor belongs to; after another one began, the endpoint may hold what was undone.
  epoch integer not null,
  -- Where this walk began and what the head was: whoever began with nothing after removals were numbered missed none.
  origin_seq bigint not null,
  begun_seq bigint not null,
  due_at timestamptz not null default now(),

  -- The frozen batch: the window (cursor_seq, batch_hi] and how many pulses it had. Null batch_hi: nothing is frozen.
  -- The generation grows with each change of settings and each seek: with the window it makes the webhook-id.
  batch_hi bigint,
  batch_count integer not null default 0,
  generation integer not null default 0,
  -- Tries of the frozen batch, counted when claimed; claims in a row that nobody settled; rejections of it.
  attempt integer not null default 0,
  unsettled integer not null default 0,
  rejections integer not null default 0,
  -- While a rejected pulse is searched for: batches of at most batch_limit up to suspect_hi.
  batch_limit integer,
  suspect_hi bigint,

  -- Failures in a row, and since when. The breaker is open from the fifth on, half-open while one try is out.
  failures integer not null default 0,
  failing_since timestamptz,
  slow boolean not null default false,
  token_refreshed boolean not null default false,
  -- Dead letters wait to be sent again.
  redrive boolean not null default false,
  delivered_at timestamptz,

  -- The fencing token grows with every claim; what an earlier holder says is refused.
  lease_token bigint not null default 0,
  lease_until timestamptz,
  worker_id bigint
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index push_subscription_consumer on pulsefeed.push_subscription (consumer_id);
create index push_subscription_credential on pulsefeed.push_subscription (credential_id);

-- Pulses that an endpoint refused for good, written in the transaction that moves the cursor past them.
create table pulsefeed.push_dead_letter (
  id bigint generated always as identity primary key,
  subscription_id text collate "C" not null references pulsefeed.push_subscription on delete cascade,
  seq bigint not null,
  resource text collate "C" not null,
  key text collate "C" not null,
  status integer,
  -- The beginning of the endpoint's answer: for the operator, never for the consumer.
  excerpt text,
  at timestamptz not null default now(),
  -- dead: waits for somebody to look; queued: to be sent again; sent: taken; superseded: a later pulse tells more.
  state text not null default 'dead' check (state in ('dead', 'queued', 'sent', 'superseded')),
  unique (subscription_id, seq)
);
create index push_dead_letter_queued on pulsefeed.push_dead_letter (subscription_id, seq) where state = 'queued';

-- Every try, kept for pushRetentionDays.
create table pulsefeed.push_attempt (
  id bigint generated always as identity,
  subscription_id text collate "C" not null,
  at timestamptz not null default now(),
  worker_id bigint not null,
  attempt integer not null,
  after_seq bigint not null,
  up_to_seq bigint not null,
  events integer not null,
  bytes integer not null,
  outcome text not null,
  status integer,
  ms integer not null
);
create index push_attempt_subscription on pulsefeed.push_attempt (subscription_id, id);
create index push_attempt_at on pulsefeed.push_attempt using brin (at);
