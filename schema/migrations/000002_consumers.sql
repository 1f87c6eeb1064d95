-- Consumers, what they hold, and the rule changes and grants that are being applied. Older servers: must not run,
-- since they would read without asking who may see.

create table pulsefeed.consumer (
  id integer generated always as identity primary key,
  name text collate "C" not null unique,
  client_id text collate "C" not null unique,
  -- sha-256 of a generated 256-bit secret, hex.
  secret_hash text not null,
  scopes text[] not null default '{read}',
  -- Attribute -> list of values, such as {"OfficeKey": ["123"]}.
  attributes jsonb not null default '{}',
  disabled boolean not null default false,
  private_feed_id integer not null references pulsefeed.feed,
  created_at timestamptz not null default now()
);

-- The definitions a consumer was granted.
create table pulsefeed.consumer_grant (
  consumer_id integer not null references pulsefeed.consumer on delete cascade,
  definition_id integer not null references pulsefeed.feed_definition,
  primary key (consumer_id, definition_id)
);

-- The feeds that follow from grants and attributes, its private feed among them. Read in the page's own statement;
-- changed only under the head lock.
create table pulsefeed.consumer_feed (
  consumer_id integer not null references pulsefeed.consumer on delete cascade,
  feed_id integer not null references pulsefeed.feed,
  primary key (consumer_id, feed_id)
);

create table pulsefeed.consumer_token (
  -- sha-256 of the token, hex.
  hash text primary key,
  consumer_id integer not null references pulsefeed.consumer on delete cascade,
  -- The first characters, by which a person tells tokens apart.
  prefix text not null,
  expires_at timestamptz,
  created_at timestamptz not null default now()
);
create index consumer_token_consumer on pulsefeed.consumer_token (consumer_id);

-- A change of rules or grants walks over keys in chunks and queues them for the sequencer. Walks are worked off in
-- their order, one at a time; a walk may pause, it is never dropped.
create table pulsefeed.visibility_walk (
  id bigint generated always as identity primary key,
  -- rules: look again at every record. value: look again at the records that have the value of a new feed.
  -- grant, revoke: tell one consumer of the records that it gained or lost.
  kind text not null check (kind in ('rules', 'value', 'grant', 'revoke')),
  consumer_id integer references pulsefeed.consumer on delete cascade,
  -- The feeds that are new, gained or lost.
  feeds integer[] not null default '{}',
  -- grant: the feeds the consumer held before. revoke: those it still holds.
  other_feeds integer[] not null default '{}',
  -- How far it has come.
  resource_id smallint,
  after_key text collate "C",
  queued bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create index visibility_walk_open on pulsefeed.visibility_walk (id) where finished_at is null;

-- Requests of a consumer in its present minute, over all processes. Unlogged: after a crash everybody starts anew.
create unlogged table pulsefeed.consumer_rate (
  consumer_id integer primary key,
  window_at timestamptz not null,
  hits integer not null
) with (fillfactor = 50);
