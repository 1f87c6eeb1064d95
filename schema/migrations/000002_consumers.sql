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

-- A change of rules or grants walks over keys in chunks and queues them for the sequencer. One at a time; it may
-- pause, it is never dropped.
create table pulsefeed.visibility_walk (
  id bigint generated always as identity primary key,
  -- rules: look again at every record. grant, revoke: tell one consumer of a feed's records.
  kind text not null check (kind in ('rules', 'value', 'grant', 'revoke')),
  -- For value, grant and revoke.
  feed_id integer references pulsefeed.feed,
  consumer_id integer references pulsefeed.consumer on delete cascade,
  resource_id smallint,
  after_key text collate "C",
  queued bigint not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create index visibility_walk_open on pulsefeed.visibility_walk (id) where finished_at is null;
