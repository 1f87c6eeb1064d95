import type { ResourceConfig } from '../config/index.ts';
import { type Db, quoteIdentifier, splitTable } from '../db/index.ts';
import { type ErrorDetail, PulsefeedError } from '../errors.ts';
import { type ColumnRow, readColumns, readRelation } from './sql.ts';

/** A column as the catalog describes it. */
export interface Column {
  readonly name: string;
  /** As `format_type` writes it, such as `character varying(25)`. */
  readonly type: string;
  /** Base type name in pg_type, `varchar`, `int8`, `numeric`, `_text` for an array; domains are resolved. */
  readonly baseType: string;
  readonly notNull: boolean;
  /** Characters, for varchar(n) and char(n). */
  readonly maxLength: number | undefined;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
  /** True for identity and generated columns. */
  readonly generated: boolean;
  readonly hasDefault: boolean;
  /** Quoted name of the column's collation, for text types. */
  readonly collation: string | undefined;
}

/** A configured resource together with the table that holds its records. */
export interface ResourceTable {
  readonly config: ResourceConfig & { readonly table: string; readonly key: string };
  readonly schema: string;
  readonly name: string;
  /** Quoted, with its schema. */
  readonly quoted: string;
  readonly partitioned: boolean;
  /** True for tables, whose rows carry `xmin`; false for views and foreign tables. */
  readonly versioned: boolean;
  readonly columns: readonly Column[];
  readonly key: Column;
}

/**
 * Looks the tables of the resources up; resources without a table are left out.
 * @throws EE-705 with one detail for each table or column that is missing.
 */
export async function readResourceTables(
  db: Db,
  resources: readonly ResourceConfig[],
): Promise<ResourceTable[]> {
  const tables: ResourceTable[] = [];
  const faults: string[] = [];
  for (const config of resources) {
    if (config.table === undefined || config.key === undefined) continue;
    const table = await readResourceTable(db, { ...config, table: config.table, key: config.key }, faults);
    if (table !== undefined) tables.push(table);
  }
  if (faults.length > 0) {
    const details: ErrorDetail[] = faults.map(message => ({ code: 'EE-705', message }));
    throw new PulsefeedError('EE-705', faults.join('\n'), { details });
  }
  return tables;
}

async function readResourceTable(
  db: Db,
  config: ResourceTable['config'],
  faults: string[],
): Promise<ResourceTable | undefined> {
  const [first = '', second] = splitTable(config.table);
  const [schema, name] = second === undefined ? [undefined, first] : [first, second];
  const [relation] = await db.query<{ oid: number; schema: string; kind: string }>(
    readRelation(schema, name),
  );
  if (relation === undefined) {
    faults.push(`resource ${config.name}: there is no table ${config.table}`);
    return undefined;
  }
  const columns = (await db.query<ColumnRow>(readColumns(relation.oid))).map(toColumn);
  const named = [config.key, config.modified, ...(config.parents ?? []).map(parent => parent.column)];
  for (const column of named) {
    if (column !== undefined && !columns.some(({ name: known }) => known === column)) {
      faults.push(`resource ${config.name}: table ${config.table} has no column ${column}`);
    }
  }
  const key = columns.find(column => column.name === config.key);
  if (key === undefined) return undefined;
  return {
    config,
    schema: relation.schema,
    name,
    quoted: `${quoteIdentifier(relation.schema)}.${quoteIdentifier(name)}`,
    partitioned: relation.kind === 'p',
    versioned: relation.kind === 'r' || relation.kind === 'p',
    columns,
    key,
  };
}

function toColumn(row: ColumnRow): Column {
  return {
    name: row.name,
    type: row.type,
    baseType: row.base_type,
    notNull: row.not_null,
    maxLength: row.max_length ?? undefined,
    precision: row.precision ?? undefined,
    scale: row.scale ?? undefined,
    generated: row.generated,
    hasDefault: row.has_default,
    collation: row.collation ?? undefined,
  };
}

export { keyText, matchKey } from './key-sql.ts';
