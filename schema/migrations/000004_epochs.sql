-- Epochs, and the horizon of tombstones. Older servers must be stopped: they would answer from inside a gap.

-- One row for each history of the log: a restore or failover that lost numbers begins a new one. Of the numbers in
-- (lost_after, lost_to] none names a record any more, and whoever asks from there holds changes that were undone.
create table pulsefeed.epoch (
  epoch integer primary key,
  opened_at timestamptz not null default now(),
  reason text not null check (reason in ('first', 'restored', 'moved', 'head fell', 'token', 'operator')),
  lost_after bigint not null default 0,
  lost_to bigint not null default 0,
  check (lost_to >= lost_after)
);
insert into pulsefeed.epoch (epoch, reason) values (1, 'first');

-- The server that wrote the head last, where that can be read: a copy elsewhere or a promoted standby differs.
alter table pulsefeed.log_head add system_id text, add timeline integer;

-- Every update of the head carries its transaction, whoever makes it: a row whose xmin is another one was restored.
-- Once it was, only opening an epoch makes it whole again, so that no other update hides the proof.
create function pulsefeed.stamp_head() returns trigger language plpgsql as $$
begin
  new.writer := pg_current_xact_id();
  return new;
end $$;
create function pulsefeed.keep_writer() returns trigger language plpgsql as $$
begin
  new.writer := old.writer;
  return new;
end $$;
create trigger stamp_head before update on pulsefeed.log_head for each row
  when (old.writer is null or old.xmin = old.writer::xid or new.epoch > old.epoch)
  execute function pulsefeed.stamp_head();
create trigger keep_writer before update on pulsefeed.log_head for each row
  when (old.writer is not null and old.xmin <> old.writer::xid and new.epoch <= old.epoch)
  execute function pulsefeed.keep_writer();
update pulsefeed.log_head set epoch = epoch;

-- How far pulses of records that are gone or hidden were looked at and dropped; the default keeps them for ever.
create table pulsefeed.tombstone (
  id smallint primary key default 1 check (id = 1),
  done_seq bigint not null default 0,
  dropped bigint not null default 0,
  moved_at timestamptz
) with (fillfactor = 50);
insert into pulsefeed.tombstone default values;

-- The last number dropped from each feed. Whoever stands below it in that feed may have missed a removal.
create table pulsefeed.tombstone_horizon (
  feed_id integer primary key,
  seq bigint not null
);
