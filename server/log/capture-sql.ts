/**
 * What a capture trigger writes. The text goes into the body of a trigger function, so that the name of the outbox
 * stays in this folder.
 */

/** The outbox, for questions about privileges on it. */
export const outbox = { schema: 'pulsefeed', table: 'record_change' } as const;

/** The longest key that the feed carries (ResourceRecordKey, RESO Data Dictionary). */
export const maxKeyLength = 255;

/**
 * The statement that leaves one row in the outbox. `key` is an SQL expression of type text; every name is qualified,
 * since the function may run under any search_path.
 */
export function outboxInsert(op: 'i' | 'u' | 'd' | 't' | 'r', resource: string, key: string): string {
  return `insert into ${outbox.schema}.${outbox.table} (op, resource, key) values ('${op}', ${literal(resource)}, ${key})`;
}

/**
 * The statement that leaves the history rows of one change. All are SQL expressions: the id of the change's outbox row,
 * the key, and three arrays of texts of one length: columns, values before, values after. Who changed it is what the
 * provider's session says in the setting `pulsefeed.changed_by`.
 */
export function historyInsert(
  resource: string,
  row: Readonly<Record<'change' | 'key' | 'fields' | 'before' | 'after', string>>,
): string {
  return `insert into ${outbox.schema}.history (change_id, resource, key, field, previous_value, new_value, changed_by)
      select ${row.change}, ${literal(resource)}, ${row.key}, f.field, f.before, f.after,
        nullif(current_setting('pulsefeed.changed_by', true), '')
      from unnest(${row.fields}, ${row.before}, ${row.after}) with ordinality f (field, before, after, place)
      order by f.place`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
