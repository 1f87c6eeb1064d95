import { setTimeout as delay } from 'node:timers/promises';
import type { ResourceTable } from '../base/catalog/index.ts';
import { type Db, quoteIdentifier } from '../base/db/index.ts';
import { PulsefeedError, sqlState } from '../base/errors.ts';
import { type InstalledRow, readInstalled, readOwner } from './catalog-sql.ts';
import { createFunction } from './function-sql.ts';
import { captureNames } from './names.ts';
import { type Found, functionFaults, judge, readCapture, strayCaptures, triggerFaults } from './status.ts';

/**
 * installed: something was made or corrected. unchanged: it was as it should be. busy: the table was in use all the
 * time. refused: a privilege is missing. unsupported: see CaptureStatus.
 */
export type InstallOutcome = 'installed' | 'unchanged' | 'busy' | 'refused' | 'unsupported';

/** What became of one table. */
export interface InstallResult {
  readonly resource: string;
  readonly table: string;
  readonly outcome: InstallOutcome;
  /** What was done, or why not and what to do about it. */
  readonly message: string;
}

/** How long to wait for a table that is in use. */
export interface LockPatience {
  /** The lock is asked for this long: writers that come meanwhile queue behind us, so it must stay short. */
  readonly lockTimeoutMs: number;
  readonly attempts: number;
  readonly pauseMs: number;
}

export const defaultPatience: LockPatience = { lockTimeoutMs: 1_000, attempts: 10, pauseMs: 1_000 };

/**
 * Puts the triggers on every table, or corrects those that drifted; a table that is as it should be is not locked at
 * all. One short transaction a table, so that no two are held together. A write that began before is either waited
 * for or has ended: from the commit on every change leaves its row. Needs the tables' ownership (membership in the
 * owning role), since only an owner may make a trigger fire always.
 */
export async function installCapture(
  db: Db,
  tables: readonly ResourceTable[],
  patience: LockPatience = defaultPatience,
): Promise<InstallResult[]> {
  const results: InstallResult[] = [];
  for (const table of tables) results.push(await installOne(db, table, patience));
  return results;
}

/**
 * As `installCapture`, for whoever goes on only if every change is captured from here on, such as seeding. Tables
 * that no trigger can watch are passed over.
 * @throws EE-707 when a privilege is missing, EE-300 when a table was in use all the time.
 */
export async function ensureCapture(
  db: Db,
  tables: readonly ResourceTable[],
  patience: LockPatience = defaultPatience,
): Promise<InstallResult[]> {
  const results = await installCapture(db, tables, patience);
  const failed = results.filter(({ outcome }) => outcome === 'refused' || outcome === 'busy');
  if (failed.length > 0) {
    const code = failed.some(({ outcome }) => outcome === 'refused') ? 'EE-707' : 'EE-300';
    const lines = failed.map(({ resource, message }) => `${resource}: ${message}`);
    throw new PulsefeedError(code, `Capture could not be installed. ${lines.join('\n')}`);
  }
  return results;
}

async function installOne(db: Db, table: ResourceTable, patience: LockPatience): Promise<InstallResult> {
  const base = { resource: table.config.name, table: table.config.table };
  const found = await readCapture(db, table);
  const before = judge(table, found);
  if (before.state === 'unsupported') {
    return { ...base, outcome: 'unsupported', message: before.faults.join(' ') };
  }
  if (before.state === 'installed') return { ...base, outcome: 'unchanged', message: 'as it should be' };
  const [who] = await db.query<{ owner: string; self: string }>(readOwner);
  const statements = installStatements(table, found, who ?? { owner: '', self: '' });
  return withPatience(db, patience, base, before.faults.join(' '), statements);
}

/** Runs the statements in one transaction, again and again while the table is in use. */
async function withPatience(
  db: Db,
  patience: LockPatience,
  base: { resource: string; table: string },
  done: string,
  statements: readonly string[],
): Promise<InstallResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await db.transaction(async tx => {
        await tx.script(`set local lock_timeout = ${Math.trunc(patience.lockTimeoutMs)}`);
        for (const statement of statements) await tx.script(statement);
      });
      return { ...base, outcome: 'installed', message: done };
    } catch (error) {
      const state = sqlState(error);
      const message = error instanceof Error ? error.message : String(error);
      if (state === '42501') return { ...base, outcome: 'refused', message: refusal(message) };
      if (state !== '55P03' && state !== '40P01') throw error;
      if (attempt >= patience.attempts) {
        return { ...base, outcome: 'busy', message: await busyMessage(db, base.table, attempt) };
      }
      await delay(patience.pauseMs);
    }
  }
}

function refusal(reason: string): string {
  return `PostgreSQL refused: ${reason}. Either grant this role membership in the table's owner for the time of the installation, or let a superuser run what \`pulsefeed capture install --sql\` prints.`;
}

async function busyMessage(db: Db, table: string, attempts: number): Promise<string> {
  const holders = await db.query<{ pid: number; seconds: number | null }>({
    text: `
select distinct l.pid, extract(epoch from now() - a.xact_start)::float8 as seconds
from pg_catalog.pg_locks l
left join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.relation = to_regclass($1) and l.granted and l.pid <> pg_backend_pid()
order by seconds desc nulls last
limit 5`,
    values: [table],
  });
  const who = holders.map(
    ({ pid, seconds }) => `process ${pid}${seconds === null ? '' : ` (open for ${Math.round(seconds)} s)`}`,
  );
  return `The table was in use each of ${attempts} times${who.length === 0 ? '' : `, by ${who.join(', ')}`}. Nothing was changed; try again when that transaction has ended.`;
}

/** What brings one table's capture to what it should be: only what is missing or wrong. */
export function installStatements(
  table: ResourceTable,
  found: Found,
  who: { owner: string; self: string },
): string[] {
  const names = captureNames(table.config.name);
  const fn = `pulsefeed.${quoteIdentifier(names.fn)}()`;
  const statements: string[] = [];
  if (functionFaults(table, found.fn).length > 0) {
    statements.push(createFunction(names.fn, table));
    statements.push(`revoke all on function ${fn} from public`);
    // It runs with its owner's rights, and those must reach to the outbox, whoever installs.
    if ((found.fn?.owner ?? who.self) !== who.owner) {
      statements.push(`alter function ${fn} owner to ${quoteIdentifier(who.owner)}`);
    }
  }
  for (const { relation, trigger, cure } of triggerFaults(table, found)) {
    const on = `${quoteIdentifier(relation.schema)}.${quoteIdentifier(relation.name)}`;
    const name = quoteIdentifier(names[trigger]);
    const cloned = trigger === 'row' && relation.partition;
    if (cure === 'create' && !cloned) statements.push(createTrigger(trigger, name, on, fn));
    // On a partition the clone that comes with its parent's trigger is there by now.
    const noun = relation.kind === 'f' ? 'foreign table' : 'table';
    statements.push(`alter ${noun} ${on} enable always trigger ${name}`);
  }
  return statements;
}

function createTrigger(trigger: 'row' | 'truncate', name: string, on: string, fn: string): string {
  const events = trigger === 'row' ? 'insert or update or delete' : 'truncate';
  const each = trigger === 'row' ? 'row' : 'statement';
  return `create or replace trigger ${name} after ${events} on ${on} for each ${each} execute function ${fn}`;
}

/** A script with which a superuser installs capture on all tables that need it. */
export async function captureScript(db: Db, tables: readonly ResourceTable[]): Promise<string> {
  const [who] = await db.query<{ owner: string; self: string }>(readOwner);
  const lines = [
    '-- Run as a superuser. It waits at most a second for each table; repeat it if one was in use.',
  ];
  for (const table of tables) {
    const found = await readCapture(db, table);
    const { state } = judge(table, found);
    if (state === 'installed' || state === 'unsupported') continue;
    const owner = who?.owner ?? '';
    const statements = installStatements(table, found, { owner, self: '' });
    lines.push('begin;', "set local lock_timeout = '1s';", ...statements.map(text => `${text};`), 'commit;');
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Takes the triggers off the tables, wherever the resource's function is called, and drops the function. From then on
 * changes leave no row.
 */
export async function removeCapture(
  db: Db,
  tables: readonly ResourceTable[],
  patience: LockPatience = defaultPatience,
): Promise<InstallResult[]> {
  const installed = await db.query<InstalledRow>(readInstalled);
  const results: InstallResult[] = [];
  for (const { config } of tables) {
    const { fn } = captureNames(config.name);
    const base = { resource: config.name, table: config.table };
    const rows = installed.filter(row => row.fn === fn);
    results.push(
      rows.length === 0
        ? { ...base, outcome: 'unchanged', message: 'was not installed' }
        : await withPatience(db, patience, base, 'removed', [...dropTriggers(rows), dropFunction(fn)]),
    );
  }
  return results;
}

/** Removes what is left of resources and tables that are not configured any more, and nothing else. */
export async function removeStrays(
  db: Db,
  tables: readonly ResourceTable[],
  patience: LockPatience = defaultPatience,
): Promise<InstallResult[]> {
  const strays = await strayCaptures(db, tables);
  const configured = new Set(tables.map(({ config }) => captureNames(config.name).fn));
  const results: InstallResult[] = [];
  for (const fn of new Set(strays.map(row => row.fn))) {
    const rows = strays.filter(row => row.fn === fn);
    const base = { resource: '(none)', table: [...new Set(rows.map(({ table }) => table ?? fn))].join(', ') };
    const statements = [...dropTriggers(rows), ...(configured.has(fn) ? [] : [dropFunction(fn)])];
    results.push(await withPatience(db, patience, base, 'removed', statements));
  }
  return results;
}

function dropTriggers(rows: readonly InstalledRow[]): string[] {
  return rows.flatMap(({ table, trigger }) =>
    table === null || trigger === null ? [] : [`drop trigger ${quoteIdentifier(trigger)} on ${table}`],
  );
}

function dropFunction(fn: string): string {
  return `drop function pulsefeed.${quoteIdentifier(fn)}()`;
}
