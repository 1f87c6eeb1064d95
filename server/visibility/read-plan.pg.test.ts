import assert from 'node:assert/strict';
import { visibilityFixture } from '../../testing/visibility-fixture.ts';
import type { Db } from '../base/db/index.ts';
import { openLog } from '../log/index.ts';

/** Lets statements through, and keeps how the server would run the last one that reads the log. */
function explaining(db: Db, plans: string[]): Db {
  return Object.assign(Object.create(db) as Db, {
    query: async (statement: Parameters<Db['query']>[0]) => {
      if (statement.text.includes('entity_event')) {
        const { text, values } = statement;
        const rows = await db.query<Record<string, string>>({
          text: `explain ${text}`,
          ...(values === undefined ? {} : { values }),
        });
        plans.push(rows.map(row => Object.values(row)[0]).join('\n'));
      }
      return db.query(statement);
    },
  });
}

describe('a page of the log', () => {
  it('reads no more of it than the page, for shared and for narrow feeds', async () => {
    const { db, consumer } = await visibilityFixture({
      IDX: { Property: 'a eq 1' },
      Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
    });
    const shared = await consumer('shared', ['IDX']);
    const narrow = await consumer('narrow', ['Own'], ['O1', 'O2']);
    await db.script(`
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, case when n % 3 = 0 then 0 else 1::bigint << (select bit from pulsefeed.feed where name = 'IDX') end, 1, 1, 'P' || n
from generate_series(1, 60000) n;
insert into pulsefeed.event_feed (feed_id, seq)
select f.id, n from generate_series(1, 60000, 30) n, pulsefeed.feed f where f.name like 'Own(%';
update pulsefeed.log_head set last_seq = 60000;
analyze pulsefeed.entity_event; analyze pulsefeed.event_feed; analyze pulsefeed.feed`);
    for (const { viewer } of [shared, narrow]) {
      for (const after of [0n, 30_000n, 60_000n]) {
        const plans: string[] = [];
        await openLog(explaining(db, plans)).read({
          where: { text: 'e.seq > $1', values: [after] },
          above: after,
          held: first => ({
            text: `select feed_id from pulsefeed.consumer_feed where consumer_id = $${first}::text::integer`,
            values: [String(viewer.consumerId)],
          }),
          limit: 1_000,
        });
        assert.equal(plans.length, 1);
        assert.ok(!/Seq Scan on (entity_event|event_feed)/.test(plans[0] ?? ''), plans[0]);
      }
    }
  });
});
