import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { SeededRandom } from '../testing/seeded-random.ts';

/** What a writer did with one transaction. `unknown`: the connection broke before the answer to its COMMIT came. */
export interface WrittenTransaction {
  readonly id: number;
  readonly end: 'committed' | 'rolled-back' | 'refused' | 'unknown';
  /** The head seen right before the end: a pulse that tells of this transaction has a larger number. */
  readonly headBefore: bigint;
  /** `Resource/key` of each record that it changed. */
  readonly keys: readonly string[];
}

/** Besides the provider's tables: which transactions are in the database, whatever their writer was told. */
export const commitTable = 'create table soak_commit (id bigint primary key)';

const records = { Showing: 300, Property: 60, Media: 200 };
const percent = { rollback: 5, earlyXid: 30 };
const mostDelayMs = 25;
const reconnectMs = 50;

/**
 * Writes transactions until `until` (performance.now()), each of one to three statements with pauses of 0 to 25 ms
 * in between; some take their transaction id long before they write, some roll back. A broken connection is
 * replaced.
 * @param firstId the ids of its transactions count up from here.
 */
export async function write(
  url: string,
  until: number,
  firstId: number,
  random: SeededRandom,
): Promise<WrittenTransaction[]> {
  const written: WrittenTransaction[] = [];
  let client: pg.Client | undefined;
  for (let id = firstId; performance.now() < until; id++) {
    client ??= await connect(url);
    if (client === undefined) continue;
    const transaction = await writeOne(client, id, random);
    written.push(transaction);
    if (transaction.end === 'unknown' || transaction.end === 'refused') {
      // A deadlock or a foreign key is answered, a lost server is not; a new connection serves for both.
      await client.end().catch(() => undefined);
      client = undefined;
    }
  }
  await client?.end().catch(() => undefined);
  return written;
}

async function connect(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'soak-writer' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch {
    await delay(reconnectMs);
    return undefined;
  }
}

async function writeOne(client: pg.Client, id: number, random: SeededRandom): Promise<WrittenTransaction> {
  let committing = false;
  let keys: string[] = [];
  let headBefore = 0n;
  try {
    await client.query('begin');
    if (random.below(100) < percent.earlyXid) {
      await client.query('select pg_current_xact_id()');
      await delay(random.below(mostDelayMs + 1));
    }
    await client.query('insert into soak_commit values ($1)', [id]);
    for (let statements = 1 + random.below(3); statements > 0; statements--) {
      await client.query(statement(random));
      await delay(random.below(mostDelayMs + 1));
    }
    const { rows } = await client.query<{ head: string; keys: string[] }>(`
      select last_seq as head, array(
        select resource || '/' || key from pulsefeed.record_change where xid = pg_current_xact_id()) as keys
      from pulsefeed.log_head`);
    keys = rows[0]?.keys ?? [];
    headBefore = BigInt(rows[0]?.head ?? 0);
    if (random.below(100) < percent.rollback) {
      await client.query('rollback');
      return { id, end: 'rolled-back', headBefore, keys };
    }
    committing = true;
    await client.query('commit');
    return { id, end: 'committed', headBefore, keys };
  } catch {
    return { id, end: committing ? 'unknown' : 'refused', headBefore, keys };
  }
}

function statement(random: SeededRandom): string {
  const showing = random.below(records.Showing);
  const listing = `p${random.below(records.Property)}`;
  const photo = `m${random.below(records.Media)}`;
  const kind = random.below(10);
  if (kind < 5) {
    return `insert into showing values (${showing}, 0) on conflict ("ShowingId") do update set note = showing.note + 1`;
  }
  if (kind < 7) {
    return `insert into property values ('${listing}', null, 0) on conflict ("ListingKey") do update set note = property.note + 1`;
  }
  if (kind < 9) {
    return `
      insert into media select '${photo}', "ListingKey", 0 from property where "ListingKey" = '${listing}'
      on conflict ("MediaKey") do update set note = media.note + 1, "ResourceRecordKey" = excluded."ResourceRecordKey"`;
  }
  return `delete from property where "ListingKey" = '${listing}'`;
}
