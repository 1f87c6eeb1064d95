import assert from 'node:assert/strict';
import { type Consumer, visibilityFixture } from '../../testing/visibility-fixture.ts';
import type { Db } from '../base/db/index.ts';
import { type EventLog, openLog } from '../log/index.ts';

const pulses = 60_000;
const offices = 100;
const limit = 1_000;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Lets statements through, and keeps how the server ran those that read the log. */
function explaining(db: Db, plans: PlanNode[]): Db {
  return Object.assign(Object.create(db) as Db, {
    query: async (statement: Parameters<Db['query']>[0]) => {
      if (statement.text.includes('entity_event')) {
        const { text, values } = statement;
        const [row] = await db.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>({
          text: `explain (analyze, timing off, format json) ${text}`,
          ...(values === undefined ? {} : { values }),
        });
        if (row !== undefined) plans.push(row['QUERY PLAN'][0].Plan);
      }
      return db.query(statement);
    },
  });
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** The rows of the log and its postings that were looked at, by index or, where there was none, by kind of scan. */
function looked(plan: PlanNode): Map<string, number> {
  const found = new Map<string, number>();
  for (const node of nodesOf(plan)) {
    if (!/^(entity_event|event_feed)$/.test(node['Relation Name'] ?? '')) continue;
    const way = node['Index Name'] ?? `${node['Node Type']} on ${node['Relation Name']}`;
    const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
    if (rows > 0 || node['Index Name'] === undefined) found.set(way, (found.get(way) ?? 0) + rows);
  }
  return found;
}

async function readingOf(
  db: Db,
  consumer: Consumer,
  after: bigint,
  read: Partial<Parameters<EventLog['read']>[0]>,
) {
  const plans: PlanNode[] = [];
  const page = await openLog(explaining(db, plans)).read({
    where: { text: 'e.seq > $1', values: [after] },
    above: after,
    seekOnly: true,
    held: first => ({
      text: `select feed_id from pulsefeed.consumer_feed where consumer_id = $${first}::text::integer`,
      values: [String(consumer.viewer.consumerId)],
    }),
    limit,
    ...read,
  });
  const [plan] = plans;
  assert.ok(plan !== undefined && plans.length === 1);
  return { plan, page, rows: looked(plan) };
}

/** IDX has two of three pulses; each office one of a hundred, and IDX's pulses are of an office too. */
async function filledLog() {
  const fixture = await visibilityFixture({
    IDX: { Property: 'a eq 1' },
    Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
  });
  const keys = Array.from({ length: offices }, (_, n) => `O${n}`);
  const readers = {
    IDX: await fixture.consumer('idx', ['IDX']),
    'one office': await fixture.consumer('one', ['Own'], ['O7']),
    '100 offices': await fixture.consumer('hundred', ['Own'], keys),
    'IDX and 100 offices': await fixture.consumer('both', ['IDX', 'Own'], keys),
  };
  await fixture.db.script(`
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, case when n % 3 = 0 then 0 else 1::bigint << (select bit from pulsefeed.feed where name = 'IDX') end, 1, 1, 'P' || n
from generate_series(1, ${pulses}) n;
insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
select f.id, n, 1, 'P' || n from generate_series(1, ${pulses}) n
join pulsefeed.feed f on f.value = 'O' || n % ${offices};
update pulsefeed.log_head set last_seq = ${pulses};
analyze pulsefeed.entity_event; analyze pulsefeed.event_feed; analyze pulsefeed.feed`);
  return { db: fixture.db, readers };
}

describe('a page of the log', () => {
  it('walks the one index of the feeds that its reader holds, no further than a few pages, and sorts no more', async () => {
    const { db, readers } = await filledLog();
    const ways: Record<keyof typeof readers, string> = {
      IDX: 'entity_event_pkey',
      'one office': 'event_feed_pkey',
      '100 offices': 'event_feed_pkey',
      'IDX and 100 offices': 'entity_event_pkey,event_feed_pkey',
    };
    for (const [name, reader] of Object.entries(readers)) {
      for (const after of [0n, BigInt(pulses / 2), BigInt(pulses)]) {
        const { plan, page, rows } = await readingOf(db, reader, after, {});
        const told = `${name} after ${after}: ${JSON.stringify([...rows])}`;
        const idle = after === BigInt(pulses);
        const expected = name === 'one office' ? Math.min(limit, (pulses - Number(after)) / offices) : limit;
        assert.equal(page.pulses.length, idle ? 0 : expected, told);
        assert.equal([...rows.keys()].sort().join(), idle ? '' : ways[name as keyof typeof ways], told);
        assert.ok([...rows.values()].reduce((sum, n) => sum + n, 0) <= 6 * limit, told);
        for (const node of nodesOf(plan).filter(found => found['Node Type'].endsWith('Sort'))) {
          // What goes in, since a page needs no more than the first of what comes out.
          const sorted = (node.Plans ?? []).reduce((sum, from) => sum + from['Actual Rows'], 0);
          assert.ok(sorted <= 3 * limit, `${told}: ${sorted} rows are sorted`);
        }
      }
    }
  });

  it('is the same whether the filter is known to be a mere position or not', async () => {
    const { db, readers } = await filledLog();
    for (const [name, reader] of Object.entries(readers)) {
      for (const [after, offset] of [
        [0n, 0],
        [29_000n, 7],
        [59_990n, 2],
      ] as const) {
        const seek = await readingOf(db, reader, after, { offset });
        const filtered = await readingOf(db, reader, after, { offset, seekOnly: false });
        assert.deepEqual(seek.page.pulses, filtered.page.pulses, name);
        const other = await readingOf(db, reader, after, { offset, seekOnly: false, orderBy: 'e.seq asc' });
        assert.deepEqual(seek.page.pulses, other.page.pulses, name);
      }
    }
  });

  it('tells feeds where it is asked to, and none where the log is for everyone', async () => {
    const { db, readers } = await filledLog();
    const { page } = await readingOf(db, readers.IDX, 0n, { feedTypes: true, limit: 3 });
    assert.deepEqual(
      page.pulses.map(({ feedTypes }) => feedTypes),
      [[], [], []],
      'audience 1 is everyone, which nobody holds',
    );
    const everyone = await openLog(db).read({
      where: { text: 'true', values: [] },
      limit: 2,
      feedTypes: true,
    });
    assert.deepEqual(
      everyone.pulses.map(({ feedTypes }) => feedTypes),
      [[], []],
    );
  });
});
