import { quoteIdentifier } from '../db/quote.ts';
import type { ResourceTable } from './index.ts';

const integer = "'^(0|-?[1-9][0-9]{0,18})$'";
/** 19 digits may be too many; nested `case` because `and` does not fix the order of its sides. */
const int8Range = '-9223372036854775808 and 9223372036854775807';
const decimal = String.raw`'^-?[0-9]{1,38}(\.[0-9]{1,38})?$'`;
const uuid = "'^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'";

/** The ResourceRecordKey of the row behind `alias`: always text (RCP-027), compared byte by byte. */
export function keyText(table: ResourceTable, alias: string): string {
  return `${alias}.${quoteIdentifier(table.key.name)}::text collate "C"`;
}

/**
 * A condition that is true for the row of `alias` whose key, as text, equals the SQL expression `key`. It uses the
 * index on the key column, and a text that is no value of the key's type matches nothing instead of failing: a
 * mistyped key in the outbox must not stop the sequencer.
 */
export function matchKey(table: ResourceTable, alias: string, key: string): string {
  const column = `${alias}.${quoteIdentifier(table.key.name)}`;
  const exactly = `${keyText(table, alias)} = ${key}`;
  switch (table.key.baseType) {
    case 'text':
    case 'varchar':
      return `${column} = (${key})::text collate ${table.key.collation ?? '"default"'} and ${exactly}`;
    case 'bpchar':
      return `${column} = (${key})::bpchar collate ${table.key.collation ?? '"default"'} and ${exactly}`;
    case 'int2':
    case 'int4':
    case 'int8':
      return `${column} = case when ${key} ~ ${integer} then case when (${key})::numeric between ${int8Range} then (${key})::int8 end end`;
    case 'numeric':
      return `${column} = case when ${key} ~ ${decimal} then (${key})::numeric end and ${exactly}`;
    case 'uuid':
      return `${column} = case when ${key} ~ ${uuid} then (${key})::uuid end`;
    default:
      return exactly;
  }
}
