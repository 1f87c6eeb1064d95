-- Forward compaction. Older servers may keep running: they neither compact nor mind gaps in the log.

-- How far the log is compacted: the keys of every pulse up to done_seq were looked at. Moved in the transaction of
-- the deletes; its row lock keeps all compactors but one out.
create table pulsefeed.compaction (
  id smallint primary key default 1 check (id = 1),
  done_seq bigint not null default 0,
  dropped bigint not null default 0,
  narrowed bigint not null default 0,
  moved_at timestamptz
) with (fillfactor = 50);
insert into pulsefeed.compaction default values;

-- Space of dropped pulses is used again by new ones once vacuum has seen it. The defaults would wait for a fifth of
-- the whole log to be dead; a hundredth keeps what is unused small next to what is kept.
alter table pulsefeed.entity_event set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02);
alter table pulsefeed.event_feed set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02);
