import type { ResourceConfig } from '../server/base/config/index.ts';

/** The provider's tables of the log's tests. `Note` has no table: its changes are reported. */
export const resources: readonly ResourceConfig[] = [
  {
    name: 'Office',
    table: 'public.office',
    key: 'OfficeKey',
    parents: [{ resource: 'Office', column: 'MainOfficeKey' }],
  },
  {
    name: 'Property',
    table: 'public.property',
    key: 'ListingKey',
    parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
  },
  {
    name: 'Media',
    table: 'public.media',
    key: 'MediaKey',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
  { name: 'Showing', table: 'public.showing', key: 'ShowingId' },
  { name: 'Lead', table: 'public.lead', key: 'LeadId' },
  { name: 'Note' },
];

/**
 * Foreign keys are deferred, so that a child may be written before its parent. The capture writes what a provider's
 * trigger writes: the key, and for a changed key the old one as well.
 */
const tables = `
create table office (
  "OfficeKey" text primary key,
  "MainOfficeKey" text references office on delete cascade on update cascade deferrable initially deferred,
  note integer not null default 0
);
create table property (
  "ListingKey" text primary key,
  "ListOfficeKey" text references office on delete cascade on update cascade deferrable initially deferred,
  note integer not null default 0
);
create table media (
  "MediaKey" text primary key,
  "ResourceRecordKey" text references property on delete cascade on update cascade deferrable initially deferred,
  note integer not null default 0
);
create table showing ("ShowingId" bigint primary key, note integer not null default 0);
create table lead ("LeadId" uuid primary key, note integer not null default 0);

create function capture() returns trigger language plpgsql as $$
declare
  old_key text := case when tg_op in ('UPDATE', 'DELETE') then to_jsonb(old) ->> tg_argv[1] end;
  new_key text := case when tg_op in ('UPDATE', 'INSERT') then to_jsonb(new) ->> tg_argv[1] end;
begin
  if tg_op = 'TRUNCATE' then
    insert into pulsefeed.record_change (op, resource, key) values ('t', tg_argv[0], '');
    return null;
  end if;
  if old_key is distinct from new_key and old_key is not null then
    insert into pulsefeed.record_change (op, resource, key) values ('d', tg_argv[0], old_key);
  end if;
  if new_key is not null then
    insert into pulsefeed.record_change (op, resource, key)
    values (case when old_key = new_key then 'u' else 'i' end, tg_argv[0], new_key);
  end if;
  return null;
end $$;
`;

/** The tables with a capture. */
export const captured = resources.flatMap(({ name, table, key }) =>
  table === undefined ? [] : [{ table, call: `capture('${name}', '${key}')` }],
);
const triggers = captured
  .map(
    ({ table, call }) => `
create trigger capture_row after insert or update or delete on ${table} for each row execute function ${call};
create trigger capture_truncate after truncate on ${table} for each statement execute function ${call};`,
  )
  .join('');

/** The provider's side of the database: tables, and triggers that write the outbox. */
export const providerTables = tables + triggers;
