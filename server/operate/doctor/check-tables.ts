import { type ResourceTable, readResourceTables } from '../../base/catalog/index.ts';
import { PulsefeedError } from '../../base/errors.ts';
import { modifiedColumn } from '../../capture/index.ts';
import { type Finding, fail, ok, type Patient, type TablePatient, warn } from './finding.ts';

/** Are the configured tables and columns there? Returns the tables that are, and what is missing. */
export async function checkTables({
  db,
  config,
}: Patient): Promise<{ tables: ResourceTable[]; findings: Finding[] }> {
  const tables: ResourceTable[] = [];
  const findings: Finding[] = [];
  if (config.resources.length === 0) {
    findings.push(
      warn('tables', 'No resources are configured.', 'Run `pulsefeed init`, or write pulsefeed.config.json.'),
    );
  }
  for (const resource of config.resources) {
    try {
      const [table] = await readResourceTables(db, [resource]);
      if (table === undefined)
        findings.push(ok('tables', 'No table: changes come over ingest.', resource.name));
      else tables.push(table);
    } catch (error) {
      if (!(error instanceof PulsefeedError)) throw error;
      for (const { message } of error.details) {
        findings.push(
          fail(
            'tables',
            `${message}.`,
            'Correct the resource in pulsefeed.config.json, or bring the table or column back; then `pulsefeed reconcile`. Until then nothing is numbered.',
            resource.name,
          ),
        );
      }
    }
  }
  for (const { config: found } of tables)
    findings.push(ok('tables', `Table ${found.table} is there.`, found.name));
  return { tables, findings };
}

interface KeyRow {
  readonly is_unique: boolean;
  readonly leading: boolean;
  readonly relkind: string;
  readonly rls: boolean;
}

/** Is each key unique, indexed, and of a type that the index can be used with? */
export async function checkKeys({ db, tables }: TablePatient): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const table of tables) {
    const [row] = await db.query<KeyRow>({
      text: `
select c.relkind::text as relkind, row_security_active(c.oid) as rls,
  coalesce(bool_or(i.indisunique and i.indnkeyatts = 1), false) as is_unique,
  coalesce(bool_or(i.indexrelid is not null), false) as leading
from pg_catalog.pg_class c
left join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisvalid and i.indpred is null
  and i.indkey[0] = (select attnum from pg_catalog.pg_attribute where attrelid = c.oid and attname = $2)
where c.oid = $1::regclass
group by c.oid, c.relkind`,
      values: [table.quoted, table.key.name],
    });
    if (row !== undefined) findings.push(...keyFindings(table, row));
  }
  return findings;
}

function keyFindings(table: ResourceTable, row: KeyRow): Finding[] {
  const { name } = table.config;
  const key = table.key.name;
  const findings: Finding[] = [];
  if (row.relkind === 'v' || row.relkind === 'f') {
    // Indexes lie behind them, where they cannot be seen from here.
    findings.push(ok('keys', `${key} belongs to a ${row.relkind === 'v' ? 'view' : 'foreign table'}.`, name));
  } else if (!row.leading) {
    findings.push(
      fail(
        'keys',
        `No index begins with ${key}: each change reads the whole table.`,
        `create unique index concurrently on ${table.quoted} ("${key}");`,
        name,
      ),
    );
  } else if (!row.is_unique) {
    findings.push(
      warn(
        'keys',
        `No unique index covers ${key} alone: rows that share a key are one record to the feed.`,
        table.partitioned
          ? 'PostgreSQL cannot enforce it across partitions unless the key is the partition key; see to it that keys are unique.'
          : `create unique index concurrently on ${table.quoted} ("${key}");`,
        name,
      ),
    );
  }
  if (!indexedTypes.has(table.key.baseType)) {
    findings.push(
      warn(
        'keys',
        `${key} is of type ${table.key.type}, which is compared as text: the index on it cannot be used.`,
        `create index concurrently on ${table.quoted} (("${key}"::text) collate "C"); or publish a text column instead.`,
        name,
      ),
    );
  }
  if (row.rls) {
    findings.push(
      warn(
        'keys',
        'Row level security applies to this role: rows that it hides count as deleted.',
        'Let the role see every row: alter role ... bypassrls, or a policy for it.',
        name,
      ),
    );
  }
  return findings.length > 0 ? findings : [ok('keys', `${key} is unique and indexed.`, name)];
}

/** Types whose text can be turned back into a value, see server/base/catalog. */
const indexedTypes = new Set(['text', 'varchar', 'bpchar', 'int2', 'int4', 'int8', 'numeric', 'uuid']);

/** Does each table tell when a record changed last? */
export async function checkModified({ tables }: TablePatient): Promise<Finding[]> {
  return tables.map(table => {
    const { note } = modifiedColumn(table);
    return note === undefined
      ? ok('modified', `${table.config.modified} tells when a record changed.`, table.config.name)
      : warn(
          'modified',
          `For reconcile: ${note}.`,
          'Name a timestamptz column that every change sets as `modified`.',
          table.config.name,
        );
  });
}
