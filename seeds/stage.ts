import { keyText, matchKey, type ResourceTable } from '../server/base/catalog/index.ts';
import { type Queryable, quoteIdentifier, type Session } from '../server/base/db/index.ts';
import { sqlState } from '../server/base/errors.ts';
import type { FaultList } from './input-fault.ts';
import type { FieldValue } from './input-record.ts';
import type { InputRow } from './input-rows.ts';
import type { LoadColumn, LoadPlan } from './load-plan.ts';

const stage = 'pg_temp.seed_stage';

/**
 * The records of one file on their way into the database: a temporary table of one session, which nobody else sees
 * and which is gone with the process. States: created -> filled by `add` -> read by the statements that line up.
 */
export class Stage {
  readonly #session: Session;
  readonly #load: LoadPlan | undefined;
  readonly #faults: FaultList;
  /** Columns that at least one record has; the others of the table keep their defaults. */
  readonly #seen = new Set<string>();
  #rows = 0;

  private constructor(session: Session, load: LoadPlan | undefined, faults: FaultList) {
    this.#session = session;
    this.#load = load;
    this.#faults = faults;
  }

  static async create(session: Session, load: LoadPlan | undefined, faults: FaultList): Promise<Stage> {
    await session.transaction(async tx => {
      await tx.script(`drop table if exists ${stage}`);
      const columns = load === undefined ? '' : `, ${load.columns.map(stageColumn).join(', ')}`;
      const from = load === undefined ? '' : ` from ${load.table.quoted} t`;
      // Columns made by a query have the type and length of the table's, and none of its constraints.
      await tx.script(`
create temporary table seed_stage as
select 0::bigint as n, ''::text collate "C" as key, null::timestamptz as modified${columns}${from} limit 0`);
    });
    return new Stage(session, load, faults);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds rows. What the columns of the loaded table do not take becomes a fault. */
  async add(rows: readonly InputRow[]): Promise<void> {
    for (const column of this.#load?.columns ?? []) {
      if (!this.#seen.has(column.name) && rows.some(row => this.#value(column, row) !== undefined)) {
        this.#seen.add(column.name);
      }
    }
    const usable = this.#load === undefined ? rows : rows.filter(row => !this.#lacksValue(row));
    if (usable.length > 0) await this.#insert(usable);
  }

  #lacksValue(row: InputRow): boolean {
    for (const column of this.#load?.columns ?? []) {
      if (!column.required || !this.#seen.has(column.name)) continue;
      if ((this.#value(column, row) ?? column.whenEmpty) !== null) continue;
      this.#fault(row, column, 'the column takes no null');
      return true;
    }
    return false;
  }

  async #insert(rows: readonly InputRow[]): Promise<void> {
    try {
      await this.#session.transaction(async tx => {
        if (this.#load !== undefined) await tx.script(`set local timezone = 'UTC'`);
        await tx.query({ text: this.#insertText(), values: this.#values(rows) });
      });
      this.#rows += rows.length;
    } catch (error) {
      // Class 22, data exception: a value does not fit its column. Halving finds which.
      if (this.#load === undefined || sqlState(error)?.startsWith('22') !== true) throw error;
      const [row] = rows;
      if (rows.length > 1) {
        const middle = rows.length >> 1;
        await this.#insert(rows.slice(0, middle));
        await this.#insert(rows.slice(middle));
      } else if (row !== undefined) {
        await this.#blame(row, error);
      }
    }
  }

  /** Asks which column refuses the value, so that the fault names its place. */
  async #blame(row: InputRow, error: unknown): Promise<void> {
    for (const column of this.#load?.columns ?? []) {
      const value = this.#value(column, row) ?? column.whenEmpty;
      if (value === null) continue;
      const refused = await this.#session
        .transaction(tx => tx.query({ text: `select $1::text::${column.type}`, values: [value] }))
        .then(() => undefined, messageOf);
      if (refused !== undefined) return this.#fault(row, column, refused);
    }
    this.#faults.add(row.record.place(0), messageOf(error), row.record.text);
  }

  #fault(row: InputRow, column: LoadColumn, message: string): void {
    const field = typeof column.from === 'number' ? column.from : 0;
    this.#faults.add(row.record.place(field), `${JSON.stringify(column.name)}: ${message}`, row.record.text);
  }

  #insertText(): string {
    const load = this.#load;
    if (load === undefined) {
      return `
insert into ${stage} (n, key, modified)
select * from unnest($1::int8[], $2::text[], $3::timestamptz[])`;
    }
    const names = load.columns.map(({ name }) => quoteIdentifier(name)).join(', ');
    const parameters = load.columns.map((_, n) => `$${n + 4}::text[]`).join(', ');
    const casts = load.columns.map((column, n) => `v.c${n}::${column.type}`).join(', ');
    const aliases = load.columns.map((_, n) => `c${n}`).join(', ');
    const key = load.columns.findIndex(({ name }) => name === load.table.key.name);
    // The record's key is what the column makes of it: 007 in an integer column is 7.
    return `
insert into ${stage} (n, key, modified, ${names})
select v.n, v.c${key}::${load.table.key.type}::text, v.modified, ${casts}
from unnest($1::int8[], $2::text[], $3::timestamptz[], ${parameters}) v (n, key, modified, ${aliases})`;
  }

  #values(rows: readonly InputRow[]): unknown[] {
    return [
      rows.map((_, n) => String(this.#rows + n)),
      rows.map(row => row.key),
      rows.map(row => row.modified),
      ...(this.#load?.columns ?? []).map(column =>
        rows.map(row => this.#value(column, row) ?? column.whenEmpty),
      ),
    ];
  }

  #value(column: LoadColumn, row: InputRow): FieldValue {
    if (column.from === 'key') return row.key;
    if (column.from === 'modified') return row.modified;
    const value = row.record.values[column.from];
    if (value === undefined && column.elseModified) return row.modified;
    return column.array && typeof value === 'string' ? arrayLiteral(value) : value;
  }

  /** A select of `key` and `modified`: of records with one key, the one modified last, of those the last in the file. */
  get select(): string {
    return `select distinct on (key) key, modified from ${stage} order by key, modified desc nulls last, n desc`;
  }

  /** How many records are left when each key counts once. */
  async countKeys(tx: Queryable): Promise<number> {
    const [row] = await tx.query<{ keys: number }>({
      text: `select count(distinct key)::int as keys from ${stage}`,
    });
    return row?.keys ?? 0;
  }

  /** Loads what the table does not have yet. Returns how many rows were new. */
  async load(tx: Queryable): Promise<number> {
    const load = this.#load;
    if (load === undefined) return 0;
    const columns = load.columns.filter(({ name }) => this.#seen.has(name));
    const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ');
    const [row] = await tx.query<{ loaded: number }>({
      text: `
with loaded as (
  insert into ${load.table.quoted} (${names})
  select ${columns.map(({ name }) => `s.${quoteIdentifier(name)}`).join(', ')}
  from (select distinct on (key) * from ${stage} order by key, modified desc nulls last, n desc) s
  where not exists (select from ${load.table.quoted} t where ${matchKey(load.table, 't', 's.key')})
  order by s.n
  returning 1
)
select count(*)::int as loaded from loaded`,
    });
    return row?.loaded ?? 0;
  }

  /** Records of the file that the configured table does not hold: they get no event. */
  async withoutRow(tx: Queryable, table: ResourceTable): Promise<number> {
    const [row] = await tx.query<{ missing: number }>({
      text: `
select count(*)::int as missing from (${this.select}) s
where not exists (select from ${table.quoted} t where ${keyText(table, 't')} = s.key)`,
    });
    return row?.missing ?? 0;
  }

  async drop(): Promise<void> {
    await this.#session.transaction(tx => tx.script(`drop table if exists ${stage}`));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stageColumn(column: LoadColumn): string {
  return `t.${quoteIdentifier(column.name)}`;
}

/** A JSON array of plain values as Postgres writes arrays; what is no array is left for the database to judge. */
function arrayLiteral(text: string): string {
  if (!text.startsWith('[')) return text;
  try {
    const items = JSON.parse(text) as unknown[];
    const quoted = items.map(item =>
      item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, String.raw`\$&`)}"`,
    );
    return `{${quoted.join(',')}}`;
  } catch {
    return text;
  }
}
