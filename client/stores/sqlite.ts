import { randomUUID } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import { isJsonObject, parseExact, stringifyExact } from '../exact-json.ts';
import type { Resource } from '../metadata.ts';
import { messageOf, ReplicationError } from '../replication-error.ts';
import type { Applied, Batch, RecordRef, Store, Upsert } from '../store.ts';

/**
 * A store in one SQLite file. Each resource has a table `pulsefeed_records_<Resource>` with the whole record as JSON and a view
 * `<Resource>` with a column per field of the metadata. Cursor and records share a transaction.
 * Needs the package `better-sqlite3`, which is loaded when the store is opened.
 */
export function sqliteStore(path: string): Store {
  return new SqliteStore(path);
}

interface Table {
  readonly upsert: Statement<[string, number, string]>;
  readonly remove: Statement<[string]>;
  readonly stale: Statement<[number, number], { key: string }>;
  readonly page: Statement<[string, number], { key: string; record: string }>;
  readonly has: Statement<[string], { found: number }>;
}

/** State: `db` while open; `owner` marks the database as this store's own until another one opens it. */
class SqliteStore implements Store {
  readonly #path: string;
  readonly #owner = randomUUID();
  readonly #tables = new Map<string, Table>();
  #db: Database | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async open(schema: { readonly resources: ReadonlyMap<string, Resource> }): Promise<void> {
    const db = this.#db ?? (await connect(this.#path));
    this.#db = db;
    guarded(() =>
      db
        .transaction(() => {
          db.exec(
            'create table if not exists pulsefeed_cursor (id integer primary key check (id = 1), owner text not null, cursor text)',
          );
          db.prepare(
            'insert into pulsefeed_cursor (id, owner) values (1, ?) on conflict (id) do update set owner = excluded.owner',
          ).run(this.#owner);
          this.#tables.clear();
          for (const resource of schema.resources.values())
            this.#tables.set(resource.name, prepareTable(db, resource));
        })
        .immediate(),
    );
  }

  async cursor(): Promise<string | undefined> {
    const row = this.#open()
      .prepare<[], { cursor: string | null }>('select cursor from pulsefeed_cursor')
      .get();
    return row?.cursor ?? undefined;
  }

  async apply(batch: Batch): Promise<Applied> {
    const db = this.#open();
    const deferred: RecordRef[] = [];
    const attempt = (ref: RecordRef, write: () => unknown) => {
      try {
        write();
      } catch (error) {
        if (!isForeignKeyError(error)) throw error;
        deferred.push({ resource: ref.resource, key: ref.key });
      }
    };
    return guarded(() =>
      db
        .transaction(() => {
          for (const upsert of batch.upserts) {
            const { key, record } = upsert;
            attempt(upsert, () =>
              this.#table(upsert).upsert.run(key, batch.generation, stringifyExact(record)),
            );
          }
          for (const ref of batch.deletes) attempt(ref, () => this.#table(ref).remove.run(ref.key));
          const saved = db
            .prepare('update pulsefeed_cursor set cursor = ? where owner = ?')
            .run(batch.cursor(deferred), this.#owner);
          if (saved.changes !== 1)
            throw new ReplicationError('not-alone', `Another process has taken over ${this.#path}.`);
          return { deferred };
        })
        .immediate(),
    );
  }

  async stale(generation: number, limit: number): Promise<readonly RecordRef[]> {
    const found: RecordRef[] = [];
    for (const [resource, table] of this.#tables) {
      for (const { key } of table.stale.all(generation, limit - found.length)) found.push({ resource, key });
    }
    return found;
  }

  async *records(resource: string): AsyncGenerator<Upsert> {
    const table = this.#table({ resource });
    for (let after = '', first = true; ; first = false) {
      // Pages by key and not one long cursor, so that records may be written meanwhile.
      const rows = table.page.all(after, first ? 1 : 0);
      for (const { key, record } of rows) {
        const value = parseExact(record);
        if (isJsonObject(value)) yield { resource, key, record: value };
        after = key;
      }
      if (rows.length === 0) return;
    }
  }

  async has(resource: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    const table = this.#table({ resource });
    return new Set(keys.filter(key => table.has.get(key) !== undefined));
  }

  async close(): Promise<void> {
    this.#db?.close();
    this.#db = undefined;
  }

  #open(): Database {
    if (!this.#db) throw new ReplicationError('store', 'The store is not open.');
    return this.#db;
  }

  #table({ resource }: { resource: string }): Table {
    const table = this.#tables.get(resource);
    if (!table) throw new ReplicationError('store', `The store was not opened for ${resource}.`);
    return table;
  }
}

async function connect(path: string): Promise<Database> {
  let open: typeof import('better-sqlite3');
  try {
    open = (await import('better-sqlite3')).default;
  } catch (cause) {
    const message =
      'SQLite needs the package better-sqlite3: npm install better-sqlite3@12 (13 needs Node 22).';
    throw new ReplicationError('store', message, { cause });
  }
  return guarded(() => {
    const db = open(path);
    // With WAL readers are not held up; FULL keeps the last transaction through a power cut, too.
    db.pragma('journal_mode = wal');
    db.pragma('synchronous = full');
    db.pragma('foreign_keys = on');
    return db;
  });
}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof ReplicationError) throw cause;
    throw new ReplicationError('store', `SQLite: ${messageOf(cause)}`, { cause });
  }
}

function isForeignKeyError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_FOREIGNKEY';
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function prepareTable(db: Database, resource: Resource): Table {
  const table = quote(`pulsefeed_records_${resource.name}`);
  db.exec(
    `create table if not exists ${table} (key text primary key not null, generation integer not null, record text not null)`,
  );
  createView(db, resource, table);
  return {
    upsert: db.prepare(
      `insert into ${table} (key, generation, record) values (?, ?, ?)
       on conflict (key) do update set generation = excluded.generation, record = excluded.record`,
    ),
    remove: db.prepare(`delete from ${table} where key = ?`),
    stale: db.prepare(`select key from ${table} where generation < ? limit ?`),
    page: db.prepare(`select key, record from ${table} where key > ? or ? order by key limit 500`),
    has: db.prepare(`select 1 as found from ${table} where key = ?`),
  };
}

/** SQLite allows 2,000 columns and compares their names without case. */
function createView(db: Database, resource: Resource, table: string): void {
  const view = quote(resource.name);
  const names = new Map(resource.fields.map(({ name }) => [name.toLowerCase(), name]));
  const columns = [...names.values()].slice(0, 1900).map(name => {
    const path = `$."${name}"`.replaceAll("'", "''");
    return `json_extract(record, '${path}') as ${quote(name)}`;
  });
  const existing = db
    .prepare<[string], { type: string }>('select type from sqlite_master where name = ?')
    .get(resource.name);
  if (existing && existing.type !== 'view') {
    throw new ReplicationError('store', `The database has a table ${resource.name} that is not this copy's.`);
  }
  db.exec(`drop view if exists ${view}`);
  db.exec(`create view ${view} as select ${columns.length > 0 ? columns.join(', ') : 'key'} from ${table}`);
}
