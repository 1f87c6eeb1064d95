import assert from 'node:assert/strict';
import type pg from 'pg';
import { readResourceTables } from '../server/base/catalog/index.ts';
import type { ResourceConfig } from '../server/base/config/index.ts';
import { connect, migrate, type Queryable } from '../server/base/db/index.ts';
import { installCapture } from '../server/capture/index.ts';
import { publishRules } from '../server/log/index.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Three levels: offices, their listings, and the photos of those. */
export const resources: readonly ResourceConfig[] = [
  { name: 'Office', table: 'public.office', key: 'OfficeKey' },
  {
    name: 'Property',
    table: 'public.property',
    key: 'ListingKey',
    parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
  },
  {
    name: 'Media',
    table: 'public.media',
    key: 'MediaKey',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
];

const providerTables = `
create table office ("OfficeKey" text primary key, a integer not null, v bigint not null);
create table property ("ListingKey" text primary key, "ListOfficeKey" text, a integer not null, v bigint not null);
create table media ("MediaKey" text primary key, "ResourceRecordKey" text, a integer not null, v bigint not null)`;

/** Fills an empty database: schema, provider's tables, capture, resources. */
export async function buildSimulationDatabase(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  try {
    await migrate(db);
    await db.script(providerTables);
    await installCapture(db, await readResourceTables(db, resources));
    await publishRules(db, { resources });
  } finally {
    await db.close();
  }
}

/** Every office there can be. */
export const offices = ['O0', 'O1', 'O2'];
const listings = ['P0', 'P1', 'P2', 'P3'];
const photos = ['M0', 'M1', 'M2', 'M3', 'M4'];
const parentsOf = (key: string) => (key[0] === 'P' ? offices : key[0] === 'M' ? listings : []);
const parentColumn: Record<string, string> = { Property: 'ListOfficeKey', Media: 'ResourceRecordKey' };
const keyColumn: Record<string, string> = { Office: 'OfficeKey', Property: 'ListingKey', Media: 'MediaKey' };

/** The resource of a key: no two share one. */
export const resourceOf = (key: string) =>
  key[0] === 'O' ? 'Office' : key[0] === 'P' ? 'Property' : 'Media';

/** A row of the provider's tables: its version grows with every write. */
export interface ProviderRow {
  readonly parent: string | null;
  readonly a: number;
  readonly v: string;
}

/** Sessions of producers that are in no transaction; one is opened when there is none. */
export interface SessionPool {
  take(): Promise<pg.Client>;
  give(session: pg.Client): void;
}

interface OpenTransaction {
  readonly session: pg.Client;
  readonly locked: Set<string>;
}

/** A provider whose programs write at random in up to three transactions at once. */
export class SimulatedProvider {
  readonly #pool: SessionPool;
  readonly #random: SeededRandom;
  #open: OpenTransaction[] = [];
  #version = 0;

  constructor(pool: SessionPool, random: SeededRandom) {
    this.#pool = pool;
    this.#random = random;
  }

  /** Begins a transaction, writes in one, or ends one. */
  async step(): Promise<void> {
    const x = this.#random.below(100);
    if (this.#open.length < 3 && x < 30) {
      const session = await this.#pool.take();
      await session.query('begin');
      this.#open.push({ session, locked: new Set() });
    } else if (this.#open.length > 0 && x < 75) await this.#write(this.#pick(this.#open));
    else if (this.#open.length > 0) {
      await this.#end(this.#pick(this.#open), this.#random.below(100) < 93 ? 'commit' : 'rollback');
    }
  }

  /** Ends every open transaction. */
  async endAll(end: 'commit' | 'rollback'): Promise<void> {
    for (const transaction of [...this.#open]) await this.#end(transaction, end);
  }

  async #end(transaction: OpenTransaction, end: 'commit' | 'rollback'): Promise<void> {
    this.#open = this.#open.filter(other => other !== transaction);
    const { command } = await transaction.session.query(end);
    assert.equal(command, end.toUpperCase());
    this.#pool.give(transaction.session);
  }

  /** One change of a record that no other open transaction has touched: such a write would wait for it. */
  async #write(transaction: OpenTransaction): Promise<void> {
    const x = this.#random.below(100);
    const key = this.#pick(x < 15 ? offices : x < 55 ? listings : photos);
    if (!this.#lock(transaction, key)) return;
    const { session } = transaction;
    const resource = resourceOf(key);
    this.#version += 1;
    const a = this.#random.below(4);
    const parent = parentsOf(key).length === 0 ? null : this.#pick(parentsOf(key));
    const kind = this.#random.below(100);
    if (kind < 22) {
      const cascade = this.#random.below(100) < 60;
      await this.#delete(transaction, key, cascade);
      return;
    }
    const column = parentColumn[resource];
    const keyName = keyColumn[resource];
    const columns = column === undefined ? `"${keyName}", a, v` : `"${keyName}", "${column}", a, v`;
    const values = column === undefined ? [key, a, this.#version] : [key, parent, a, this.#version];
    const reparent = column !== undefined && kind > 70 ? `, "${column}" = excluded."${column}"` : '';
    const recolour = kind < 65 ? ', a = excluded.a' : '';
    await session.query(
      `insert into ${resource.toLowerCase()} (${columns}) values (${values.map((_, n) => `$${n + 1}`)})
       on conflict ("${keyName}") do update set v = excluded.v${recolour}${reparent}`,
      values,
    );
  }

  /** Deletes a record and, as a cascade does it, its children after it. */
  async #delete(transaction: OpenTransaction, key: string, cascade: boolean): Promise<void> {
    const { session } = transaction;
    const resource = resourceOf(key);
    const gone = `delete from ${resource.toLowerCase()} where "${keyColumn[resource]}" = $1`;
    if (!cascade || resource === 'Media') {
      await session.query(gone, [key]);
      return;
    }
    const child = resource === 'Office' ? 'Property' : 'Media';
    const { rows } = await session.query<{ key: string }>(
      `select "${keyColumn[child]}" as key from ${child.toLowerCase()} where "${parentColumn[child]}" = $1`,
      [key],
    );
    if (rows.some(row => !this.#lock(transaction, row.key))) return;
    await session.query(gone, [key]);
    for (const row of rows) await this.#delete(transaction, row.key, true);
  }

  #lock(transaction: OpenTransaction, key: string): boolean {
    if (this.#open.some(other => other !== transaction && other.locked.has(key))) return false;
    transaction.locked.add(key);
    return true;
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[this.#random.below(items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  }
}

/** Every row that is committed, by key. */
export async function readProviderRows(db: Queryable): Promise<Map<string, ProviderRow>> {
  const rows = new Map<string, ProviderRow>();
  for (const { name } of resources) {
    const parent = parentColumn[name];
    const found = await db.query<{ key: string; parent: string | null; a: number; v: bigint }>({
      text: `select "${keyColumn[name]}" as key, ${parent === undefined ? 'null' : `"${parent}"`} as parent, a, v
             from ${name.toLowerCase()}`,
    });
    for (const row of found) rows.set(row.key, { parent: row.parent, a: row.a, v: row.v.toString() });
  }
  return rows;
}
