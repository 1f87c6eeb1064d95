import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { isJsonObject, type JsonObject, parseExact, stringifyExact } from '../exact-json.ts';
import type { Resource, Schema } from '../metadata.ts';
import { messageOf, ReplicationError } from '../replication-error.ts';
import type { Applied, Batch, RecordRef, Store, Upsert } from '../store.ts';
import * as sql from './postgres-sql.ts';
import { columnValue, joinRecord, packWhole, splitRecord } from './postgres-values.ts';

/** Where a Postgres copy goes. */
export interface PostgresStoreOptions {
  /** `postgres://user:password@host/database` */
  readonly url: string;
  /** The schema of the tables; `public` by default. Created when missing. */
  readonly schema?: string | undefined;
}

/**
 * A store in Postgres (14 or newer): one table per resource with a typed column per field of the metadata; fields and values that no
 * column holds are kept in `pulsefeed_extra` (jsonb). Cursor and records share a transaction. Foreign keys that the user adds
 * are respected: a record whose parent is missing is deferred.
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(options);
}

/** State: `client` while open; the row of `pulsefeed_cursor` names the owner, and every transaction begins by checking it. */
class PostgresStore implements Store {
  readonly #url: string;
  readonly #schema: string;
  readonly #owner = randomUUID();
  readonly #shapes = new Map<string, sql.TableShape>();
  #client: pg.Client | undefined;

  constructor({ url, schema = 'public' }: PostgresStoreOptions) {
    this.#url = url;
    this.#schema = schema;
  }

  get #cursorTable(): string {
    return `${sql.quote(this.#schema)}.pulsefeed_cursor`;
  }

  async open(schema: Schema): Promise<void> {
    await guarded(async () => {
      this.#client ??= await connect(this.#url);
      const client = this.#client;
      await client.query('begin');
      // Two processes that open at once would both try to create the tables.
      await client.query('select pg_advisory_xact_lock(hashtext($1))', [`pulsefeed-copy ${this.#schema}`]);
      await client.query(sql.createCursorTable(this.#schema));
      await client.query(`update ${this.#cursorTable} set owner = $1`, [this.#owner]);
      this.#shapes.clear();
      for (const resource of schema.resources.values()) {
        const shape = await this.#createTable(client, resource);
        if (shape) this.#shapes.set(resource.name, shape);
      }
      await client.query('commit');
    });
  }

  async cursor(): Promise<string | undefined> {
    const { rows } = await this.#query<{ cursor: string | null }>(
      `select cursor from ${this.#cursorTable}`,
      [],
    );
    return rows[0]?.cursor ?? undefined;
  }

  async apply(batch: Batch): Promise<Applied> {
    const client = this.#opened();
    return guarded(async () => {
      try {
        await client.query('begin');
        const { rowCount } = await client.query(
          `select from ${this.#cursorTable} where owner = $1 for update`,
          [this.#owner],
        );
        if (rowCount !== 1)
          throw new ReplicationError('not-alone', 'Another process has taken over this copy.');
        const deferred: RecordRef[] = [];
        for (const group of byResource(batch.upserts))
          await this.#upsert(client, group, batch.generation, deferred);
        for (const group of byResource(batch.deletes)) await this.#delete(client, group, deferred);
        await client.query(`update ${this.#cursorTable} set cursor = $1`, [batch.cursor(deferred)]);
        await client.query('commit');
        return { deferred };
      } catch (error) {
        await client.query('rollback').catch(() => {});
        throw error;
      }
    });
  }

  async stale(generation: number, limit: number): Promise<readonly RecordRef[]> {
    const found: RecordRef[] = [];
    for (const [resource, shape] of this.#shapes) {
      const { rows } = await this.#query<{ key: string }>(sql.staleRows(shape), [
        generation,
        limit - found.length,
      ]);
      for (const { key } of rows) found.push({ resource, key });
    }
    return found;
  }

  async *records(resource: string): AsyncGenerator<Upsert> {
    const shape = this.#shape(resource);
    for (let after: string | null = null; ; ) {
      const page: pg.QueryResult<StoredRow> = await this.#query<StoredRow>(sql.pageRows(shape), [after]);
      for (const { key, typed, extra } of page.rows) {
        const columns = parseExact(typed);
        const rest = extra === null ? undefined : parseExact(extra);
        yield { resource, key, record: joinRecord(isJsonObject(columns) ? columns : {}, rest) };
        after = key;
      }
      if (page.rows.length === 0) return;
    }
  }

  async has(resource: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    const shape = this.#shape(resource);
    const { rows } = await this.#query<{ key: string }>(sql.existingKeys(shape), [fittingKeys(shape, keys)]);
    return new Set(rows.map(({ key }) => key));
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  #opened(): pg.Client {
    if (!this.#client) throw new ReplicationError('store', 'The store is not open.');
    return this.#client;
  }

  #shape(resource: string): sql.TableShape {
    const shape = this.#shapes.get(resource);
    if (!shape) throw new ReplicationError('store', `The store was not opened for ${resource}.`);
    return shape;
  }

  #query<R extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<R>> {
    const client = this.#opened();
    return guarded(() => client.query<R>(text, values));
  }

  async #createTable(client: pg.Client, resource: Resource): Promise<sql.TableShape | undefined> {
    if (!resource.key) return undefined;
    const table = `${sql.quote(this.#schema)}.${sql.quote(resource.name)}`;
    const wanted = sql.columnFields(resource.key, resource.fields);
    await client.query(sql.createTable(table, wanted));
    const existing = await this.#columnsOf(client, resource.name);
    const missing = wanted.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) await client.query(sql.addColumns(table, missing));
    // A column keeps the type it has: values that do not fit go to the rest.
    const columns = wanted.map(({ name, type }) => ({ name, type: existing.get(name) ?? type }));
    const [key] = columns;
    return key && { table, key, columns };
  }

  async #columnsOf(client: pg.Client, table: string): Promise<Map<string, string>> {
    const { rows } = await client.query<{ column_name: string; data_type: string }>(
      'select column_name, data_type from information_schema.columns where table_schema = $1 and table_name = $2',
      [this.#schema, table],
    );
    return new Map(rows.map(row => [row.column_name, row.data_type]));
  }

  async #upsert(
    client: pg.Client,
    group: readonly Upsert[],
    generation: number,
    deferred: RecordRef[],
  ): Promise<void> {
    const shape = this.#shape(group[0]?.resource ?? '');
    const rows = group.map(({ key, record }) => {
      const { typed, extra } = splitRecord(shape.columns, record);
      return { ...typed, [shape.key.name]: key, pulsefeed_extra: extra };
    });
    const statement = sql.upsertRows(shape);
    if (
      (await attempt(client, () => client.query(statement, [stringifyExact(rows), generation]))) === 'written'
    )
      return;
    // One row is at fault: each is tried alone, then with everything in the rest.
    for (const [at, upsert] of group.entries()) {
      const packed: JsonObject = { [shape.key.name]: upsert.key, pulsefeed_extra: packWhole(upsert.record) };
      for (const row of [rows[at], packed]) {
        const outcome = await attempt(client, () =>
          client.query(statement, [stringifyExact([row ?? null]), generation]),
        );
        if (outcome === 'orphan') deferred.push({ resource: upsert.resource, key: upsert.key });
        if (outcome !== 'unfit') break;
        if (row === packed)
          throw new ReplicationError('store', `${upsert.resource} ${upsert.key} is refused by its table.`);
      }
    }
  }

  async #delete(client: pg.Client, group: readonly RecordRef[], deferred: RecordRef[]): Promise<void> {
    const shape = this.#shape(group[0]?.resource ?? '');
    const keys = fittingKeys(
      shape,
      group.map(({ key }) => key),
    );
    const statement = sql.deleteRows(shape);
    if ((await attempt(client, () => client.query(statement, [keys]))) === 'written') return;
    for (const { resource, key } of group) {
      const outcome = await attempt(client, () => client.query(statement, [[key]]));
      if (outcome !== 'written') deferred.push({ resource, key });
    }
  }
}

interface StoredRow extends pg.QueryResultRow {
  readonly key: string;
  readonly typed: string;
  readonly extra: string | null;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'pulsefeed-client' });
  // The next query tells of a lost connection; without a listener the event would end the process.
  client.on('error', () => {});
  await client.connect();
  await client.query(
    "set time zone 'UTC'; set datestyle to 'ISO'; set extra_float_digits to 1; set client_min_messages to warning",
  );
  return client;
}

/** Runs one write under a savepoint. `orphan`: a foreign key refused it; `unfit`: a value or another constraint did. */
async function attempt(
  client: pg.Client,
  write: () => Promise<unknown>,
): Promise<'written' | 'orphan' | 'unfit'> {
  await client.query('savepoint attempt');
  try {
    await write();
    await client.query('release savepoint attempt');
    return 'written';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!/^2[23]/.test(code)) throw error;
    await client.query('rollback to savepoint attempt');
    return code === '23503' ? 'orphan' : 'unfit';
  }
}

async function guarded<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof ReplicationError) throw cause;
    throw new ReplicationError('store', `Postgres: ${messageOf(cause)}`, { cause });
  }
}

/** Neighbours of the same resource together, in the order of the batch. */
function byResource<T extends RecordRef>(refs: readonly T[]): T[][] {
  const groups: T[][] = [];
  for (const ref of refs) {
    const group = groups.at(-1);
    if (group?.[0]?.resource === ref.resource) group.push(ref);
    else groups.push([ref]);
  }
  return groups;
}

function fittingKeys(shape: sql.TableShape, keys: readonly string[]): string[] {
  return keys.filter(key => columnValue(shape.key.type, key) !== undefined);
}
