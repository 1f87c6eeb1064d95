import assert from 'node:assert/strict';
import { atTestEnd } from '../../testing/cleanup.ts';
import { buildLogDatabase, drain, type LogDatabase, openLogDatabase } from '../../testing/log-database.ts';
import { testDatabase } from '../../testing/postgres.ts';
import type { Db, Queryable, Session, Statement } from '../base/db/index.ts';
import { openLog } from './index.ts';

/** The tables that grow; reading one of them whole is what no statement may do. */
const growing = new Set([
  'entity_event',
  'record_state',
  'record_change',
  'property',
  'log_time',
  'ingested',
]);
const records = 20_000;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** A statement that read a growing table, and how many of its rows. */
interface Reading {
  readonly statement: string;
  readonly table: string;
  readonly node: string;
  readonly rows: number;
}

/** Runs a statement for its plan with true row counts, and takes back what it did. */
async function readings(tx: Queryable, { text, values }: Statement): Promise<Reading[]> {
  await tx.script('savepoint planned');
  const [row] = await tx.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>({
    text: `explain (analyze, timing off, format json) ${text}`,
    ...(values === undefined ? {} : { values }),
  });
  await tx.script('rollback to savepoint planned; release savepoint planned');
  const statement = text.trim().slice(0, 60).replaceAll(/\s+/g, ' ');
  const found: Reading[] = [];
  const visit = (node: PlanNode): void => {
    const table = node['Relation Name'];
    // Modifying nodes bear the name of their table as well, and read nothing by themselves.
    if (table !== undefined && growing.has(table) && node['Node Type'].includes('Scan')) {
      const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0);
      const rows = each * node['Actual Loops'];
      found.push({ statement, table, node: node['Node Type'], rows });
    }
    node.Plans?.forEach(visit);
  };
  if (row !== undefined) visit(row['QUERY PLAN'][0].Plan);
  return found;
}

/** The same database, with the readings of every statement of a step noted. */
function watched(db: Db, seen: Reading[]): Db {
  const session = async (): Promise<Session> => {
    const real = await db.session();
    return {
      close: () => real.close(),
      transaction: (work, options) =>
        real.transaction(
          tx =>
            work({
              async query<Row>(statement: Statement) {
                seen.push(...(await readings(tx, statement)));
                return tx.query<Row>(statement);
              },
              script: sql => tx.script(sql),
            }),
          options,
        ),
    };
  };
  return { ...db, session };
}

/** Fills a database with many records, each with its pulse. */
async function buildLargeLog(url: string): Promise<void> {
  await buildLogDatabase(url);
  const log = await openLogDatabase(url);
  await log.write(`
    set local session_replication_role = replica;
    insert into property select 'k' || n, null, 0 from generate_series(1, ${records}) n;
    set local session_replication_role = origin;
    insert into pulsefeed.record_change (op, resource, key) select 'i', 'Property', "ListingKey" from property`);
  const sequencer = log.sequencer({ batchSize: records });
  await drain(sequencer);
  await sequencer.close();
  // A template is copied with nobody connected.
  await log.db.close();
}

async function largeLog(): Promise<LogDatabase> {
  const database = await testDatabase({ template: buildLargeLog, name: 'large-log' });
  atTestEnd(() => database.drop());
  return openLogDatabase(database.url);
}

function assertFew(seen: readonly Reading[], most: number): void {
  assert.ok(seen.length > 0, 'nothing was watched');
  for (const reading of seen) {
    assert.ok(reading.rows <= most, `${reading.rows} rows, ${most} allowed: ${JSON.stringify(reading)}`);
  }
}

describe('what the log reads', () => {
  for (const statistics of ['without statistics', 'with statistics']) {
    it(`in a step follows the changes and not the size of the tables, ${statistics}`, async () => {
      const log = await largeLog();
      if (statistics === 'with statistics') await log.write('analyze');
      await log.write(`
        update property set note = 1 where "ListingKey" in ('k1', 'k100', 'k10000');
        delete from property where "ListingKey" = 'k2';
        insert into property values ('new', null)`);
      const seen: Reading[] = [];
      await log.sequencer({}, watched(log.db, seen)).step();
      assertFew(seen, 20);
      assert.ok(seen.some(({ table }) => table === 'property'));
    });

    it(`in a step does not grow with the backlog, ${statistics}`, async () => {
      const log = await largeLog();
      // 3,000 transactions of three changes each, as if they had committed one by one.
      await log.write(`
        insert into pulsefeed.record_change (xid, op, resource, key)
        select (n / 3 + 3)::text::xid8, 'u', 'Property', 'k' || n from generate_series(1, 9000) n`);
      if (statistics === 'with statistics') await log.write('analyze');
      const seen: Reading[] = [];
      const sequencer = log.sequencer({ batchSize: 300 }, watched(log.db, seen));
      for (let step = 0; step < 6; step++) await sequencer.step();
      assertFew(seen, 700);
      assert.ok(seen.some(({ table }) => table === 'record_change'));
    });
  }

  it('for a page is the page, from the start, from the middle and at the head', async () => {
    const log = await largeLog();
    for (const [cursor, expected] of [
      [0n, 100],
      [BigInt(records / 2), 100],
      [BigInt(records - 10), 10],
      [BigInt(records), 0],
    ] as const) {
      const seen: Reading[] = [];
      const through: Db = {
        ...log.db,
        async query<Row>(statement: Statement) {
          if (statement.text.includes('lateral')) {
            await log.db.transaction(async tx => {
              seen.push(...(await readings(tx, statement)));
            });
          }
          return log.db.query<Row>(statement);
        },
      };
      const page = await openLog(through).read({
        where: { text: 'e.seq > $1', values: [cursor] },
        limit: 100,
      });
      assert.equal(page.pulses.length, expected);
      assertFew(seen, 100);
    }
  });
});
