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

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
