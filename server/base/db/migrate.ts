import { readdir, readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { packageFile } from '../package-root.ts';
import type { Db } from './index.ts';

/** One numbered file of schema/migrations. */
interface SqlMigration {
  readonly name: string;
  readonly path: string;
}

const tables = { schemaName: 'pulsefeed', tableName: 'migration' };

/** An arbitrary constant: whoever holds this advisory lock migrates. */
const migrationLock = '7238462016';

/**
 * Brings schema `pulsefeed` to the newest version and returns the names of the migrations that ran. Safe when many
 * processes call it at once, and after one was killed in the middle: the advisory lock of the database decides who
 * migrates, and a lock flag of knex that a dead process left behind is freed under it.
 */
export async function migrate(db: Db): Promise<string[]> {
  if (db.engine === 'pglite') return migrateLatest(db);
  return db.transaction(async tx => {
    await tx.query({ text: `select pg_advisory_xact_lock(${migrationLock})` });
    return migrateLatest(db);
  });
}

/** Names of the migrations that are still to run; everything when the schema is not there. */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const all = await sqlSource.getMigrations([]);
  const [found] = await db.query<{ there: boolean }>({
    text: `select to_regclass('pulsefeed.migration') is not null as there`,
  });
  if (found?.there !== true) return all.map(sqlSource.getMigrationName);
  const done = await db.query<{ name: string }>({ text: 'select name from pulsefeed.migration' });
  const names = new Set(done.map(row => row.name));
  return all.map(sqlSource.getMigrationName).filter(name => !names.has(name));
}

async function migrateLatest(db: Db): Promise<string[]> {
  await db.script('create schema if not exists pulsefeed');
  const config: Knex.MigratorConfig = { ...tables, migrationSource: sqlSource };
  const [lock] = await db.query<{ there: boolean }>({
    text: `select to_regclass('pulsefeed.migration_lock') is not null as there`,
  });
  if (lock?.there === true) await db.knex.migrate.forceFreeMigrationsLock(config);
  const [, names] = await db.knex.migrate.latest(config);
  return names as string[];
}

/** knex's migrator over plain .sql files, each in one transaction. */
const sqlSource: Knex.MigrationSource<SqlMigration> = {
  async getMigrations() {
    const folder = packageFile('schema/migrations');
    const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort();
    return names.map(name => ({ name: name.replace(/\.sql$/, ''), path: `${folder}/${name}` }));
  },
  getMigrationName: migration => migration.name,
  async getMigration(migration) {
    const sql = await readFile(migration.path, 'utf8');
    return {
      async up(knex: Knex) {
        // Each statement by itself: PGlite prepares what knex sends, and takes one statement at a time.
        for (const statement of splitStatements(sql)) await knex.raw(statement.replaceAll('?', '\\?'));
      },
      async down() {
        throw new Error('Migrations go forward only.');
      },
    };
  },
};

/**
 * Splits a migration at the semicolons that end its statements: those outside comments, quotes and dollar quotes.
 * Our own files only; they use no nested comments and no tagged dollar quotes.
 */
export function splitStatements(sql: string): string[] {
  const token = /--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$[\s\S]*?\$\$|;|[^-'"$;]+|[\s\S]/g;
  const statements: string[] = [];
  let current = '';
  for (const [text] of sql.matchAll(token)) {
    if (text.startsWith('--')) continue;
    if (text !== ';') {
      current += text;
      continue;
    }
    if (current.trim() !== '') statements.push(current.trim());
    current = '';
  }
  if (current.trim() !== '') statements.push(current.trim());
  return statements;
}
