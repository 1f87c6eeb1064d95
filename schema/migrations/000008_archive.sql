-- The archive: parts of the log that were moved to segment files. Older servers must be stopped: they would answer as
-- if what was moved had never been numbered.

-- Every pulse up to archived_to is in a segment, none above it. Moved in the transaction that deletes from the log; a
-- page reads it in its own statement.
create table pulsefeed.archive (
  id smallint primary key default 1 check (id = 1),
  archived_to bigint not null default 0
) with (fillfactor = 50);
insert into pulsefeed.archive default values;

-- The manifest: one row a part `(after, up_to]`, each beginning where the one before it ends. What no row names is no
-- part of the archive, whatever lies in the store. A part of which compaction left nothing has no file.
create table pulsefeed.archive_segment (
  up_to bigint primary key,
  after bigint not null unique,
  epoch integer not null,
  rows integer not null,
  file text collate "C",
  bytes bigint not null,
  -- Of the file as it is stored, hex.
  sha256 text,
  -- The feeds with a bit that any of its pulses has: a page of other feeds need not open it.
  shared_feeds integer[] not null,
  written_at timestamptz not null default now(),
  check (up_to > after),
  check ((file is null) = (rows = 0)),
  check ((file is null) = (sha256 is null))
);

-- A revocation also tells of records whose pulses are archived: how far it has come there; null before it begins.
alter table pulsefeed.visibility_walk add column archived_after bigint;
