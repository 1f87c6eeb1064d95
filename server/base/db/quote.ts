/** Quotes one SQL identifier. The only place where a name becomes SQL text. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('An identifier cannot hold a NUL character.');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes `schema.table` or `table`; a name that holds a dot itself is written `"a.b".c` in the config. */
export function quoteTable(table: string): string {
  return splitTable(table).map(quoteIdentifier).join('.');
}

/** Splits `schema.table` into its parts, honouring double quotes. */
export function splitTable(table: string): string[] {
  const parts = [...table.matchAll(/"((?:[^"]|"")+)"|([^."]+)/g)].map(
    match => match[1]?.replaceAll('""', '"') ?? match[2] ?? '',
  );
  if (parts.length === 0 || parts.length > 2) throw new Error(`Not a table name: ${table}`);
  return parts;
}
