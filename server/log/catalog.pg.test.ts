import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { atTestEnd } from '../../testing/cleanup.ts';
import { testDatabase } from '../../testing/postgres.ts';
import { connect, type Db, migrate } from '../base/db/index.ts';

const snapshot = new URL('../../schema/catalog.snapshot.txt', import.meta.url);

/** Columns, constraints, indexes, functions and storage parameters of the schema, a line each. */
const catalog = `
select line from (
  select c.relname as of, 1 as part, a.attnum::text as ord, concat_ws(' ',
    'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> 0 then 'collate ' || l.collname end,
    case when a.attnotnull then 'not null' end,
    case when a.attidentity <> '' then 'identity ' || a.attidentity::text end,
    'default ' || pg_get_expr(d.adbin, d.adrelid)) as line
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  left join pg_collation l on l.oid = a.attcollation
  where c.relkind in ('r', 'p') and c.relnamespace = 'pulsefeed'::regnamespace
  union all
  select c.relname, 0, '', concat_ws(' ', 'table', c.relname, 'with ' || array_to_string(c.reloptions, ', '))
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'pulsefeed'::regnamespace
  union all
  select r.relname, 2, c.conname, concat_ws(' ', 'constraint', r.relname || '.' || c.conname, pg_get_constraintdef(c.oid))
  from pg_constraint c join pg_class r on r.oid = c.conrelid
  where c.connamespace = 'pulsefeed'::regnamespace and c.contype <> 'n'
  union all
  select tablename, 3, indexname, 'index ' || indexdef from pg_indexes where schemaname = 'pulsefeed'
  union all
  select p.proname, 4, '', concat_ws(' ', 'function', p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
    'returns', pg_get_function_result(p.oid), md5(p.prosrc))
  from pg_proc p where p.pronamespace = 'pulsefeed'::regnamespace
) s
order by of collate "C", part, length(ord), ord collate "C"`;

/** What knex keeps for itself is its own business. */
const foreign = /^\w+ (INDEX )?migration(_lock)?\b|^index .* migration/;

async function read(db: Db): Promise<string> {
  const rows = await db.query<{ line: string }>({ text: catalog });
  return `${rows
    .map(({ line }) => line)
    .filter(line => !foreign.test(line))
    .join('\n')}\n`;
}

describe('the schema', () => {
  // PULSEFEED_WRITE_SNAPSHOT=1 writes the file anew, to be read and checked in with the migration.
  it('is the one that schema/catalog.snapshot.txt describes', async () => {
    const database = await testDatabase({ name: 'catalog' });
    atTestEnd(() => database.drop());
    const db = await connect({ databaseUrl: database.url, dataDir: '' });
    atTestEnd(() => db.close());
    await migrate(db);
    const found = await read(db);
    if (process.env.PULSEFEED_WRITE_SNAPSHOT !== undefined) await writeFile(snapshot, found);
    assert.equal(found, await readFile(snapshot, 'utf8'));
  });
});
