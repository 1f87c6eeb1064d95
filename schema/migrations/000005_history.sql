-- What changed within records, for resources with "history". Older servers must not number: they would leave the rows
-- of their steps without a number.

-- One row a changed field, written by the capture trigger in the provider's own transaction, like the outbox row that
-- it belongs to (change_id). seq is null until the sequencer numbers that change, and nobody reads the row before; then
-- it is the number of the pulse that told of it, and feeds those that may read the row: the record was theirs before
-- and after. A change that nobody may read of loses its rows.
create table pulsefeed.history (
  id bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  change_id bigint not null,
  at timestamptz not null default now(),
  resource text collate "C" not null,
  key text collate "C" not null,
  -- The column, as it was named then.
  field text collate "C" not null,
  previous_value text,
  new_value text,
  changed_by text,
  seq bigint,
  feeds integer[]
) with (fillfactor = 90);
create index history_pending on pulsefeed.history (resource, key) where seq is null;
create unique index history_seq on pulsefeed.history (seq, id) where seq is not null;
create index history_record on pulsefeed.history (resource, key, seq) where seq is not null;

-- Who may read the history of the change that a pulse tells of; null where none is kept.
alter table pulsefeed.batch_pulse add column told integer[];
