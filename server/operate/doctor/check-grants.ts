import { type Finding, fail, ok, type Patient, type TablePatient } from './finding.ts';

/** May this role do in schema pulsefeed what serving and numbering need? */
export async function checkSchemaGrants({ db }: Patient): Promise<Finding[]> {
  const [row] = await db.query<{
    role: string;
    usage: boolean;
    temporary: boolean;
    tables: string[] | null;
    functions: string[] | null;
  }>({
    text: `
select current_user::text as role, has_schema_privilege('pulsefeed', 'USAGE') as usage,
  has_database_privilege(current_database(), 'TEMPORARY') as temporary,
  (select array_agg(c.relname::text order by c.relname) from pg_catalog.pg_class c
   where c.relnamespace = 'pulsefeed'::regnamespace and c.relkind in ('r', 'p')
     and not (has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
       and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))) as tables,
  (select array_agg(p.proname::text order by p.proname) from pg_catalog.pg_proc p
   where p.pronamespace = 'pulsefeed'::regnamespace and p.prorettype <> 'trigger'::regtype
     and not has_function_privilege(p.oid, 'EXECUTE')) as functions`,
  });
  if (row === undefined) return [];
  const role = `"${row.role}"`;
  const missing: [boolean, string, string][] = [
    [!row.usage, 'use schema pulsefeed', `grant usage on schema pulsefeed to ${role};`],
    [
      row.tables !== null,
      `read and write ${row.tables?.join(', ')}`,
      `grant select, insert, update, delete on all tables in schema pulsefeed to ${role};`,
    ],
    [
      row.functions !== null,
      `call ${row.functions?.join(', ')}`,
      `grant execute on function ${row.functions?.map(name => `pulsefeed.${name}`).join(', ')} to ${role};`,
    ],
    [
      !row.temporary,
      'make temporary tables, which numbering needs',
      `grant temporary on database ... to ${role};`,
    ],
  ];
  const findings = missing
    .filter(([lacks]) => lacks)
    .map(([, what, remedy]) => fail('grants', `Role ${row.role} may not ${what}.`, remedy, 'pulsefeed'));
  return findings.length > 0 ? findings : [ok('grants', `Role ${row.role} may use the schema.`, 'pulsefeed')];
}

/** May this role read the provider's tables? */
export async function checkTableGrants({ db, tables }: TablePatient): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { config, schema, name, quoted } of tables) {
    const [row] = await db.query<{ role: string; usage: boolean; reads: boolean }>({
      text: `
select current_user::text as role, has_schema_privilege(n.oid, 'USAGE') as usage,
  has_table_privilege(c.oid, 'SELECT') as reads
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2`,
      values: [schema, name],
    });
    if (row === undefined) continue;
    if (!row.usage) {
      findings.push(
        fail(
          'grants',
          `Role ${row.role} may not use schema ${schema}.`,
          `grant usage on schema "${schema}" to "${row.role}";`,
          config.name,
        ),
      );
    }
    if (!row.reads) {
      findings.push(
        fail(
          'grants',
          `Role ${row.role} may not read ${config.table}.`,
          `grant select on ${quoted} to "${row.role}";`,
          config.name,
        ),
      );
    }
    if (row.usage && row.reads) {
      findings.push(ok('grants', `Role ${row.role} may read ${config.table}.`, config.name));
    }
  }
  return findings;
}
