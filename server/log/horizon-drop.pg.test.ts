import assert from 'node:assert/strict';
import { logDatabase } from '../../testing/log-database.ts';
import { type DroppedRow, dropHidden } from './horizon-sql.ts';

/** Twenty removals: to 5 of a feed that ended there, from 6 of one that goes on. */
const twoFeeds = `
insert into pulsefeed.resource (name) values ('Note');
insert into pulsefeed.feed (id, name, bit) values (100, 'ended', 1), (101, 'lively', 2);
insert into pulsefeed.audience (id, feeds, shared, narrow, digest) values (100, '{100}', 2, '{}', 'a'), (101, '{101}', 4, '{}', 'b');
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select g, case when g <= 5 then 2 else 4 end, case when g <= 5 then 100 else 101 end, r.id, 'k' || g
from pulsefeed.resource r, generate_series(1, 20) g where r.name = 'Note';
update pulsefeed.log_head set last_seq = 20`;

describe('dropping removals of a feed that ended', () => {
  it('keeps its last one without reading on to the end of the log for it', async () => {
    const { db, write } = await logDatabase();
    await write(twoFeeds);
    const kept = async (after: bigint, upTo: bigint, lookAhead: number) => {
      await db.query<DroppedRow>(dropHidden(after, upTo, lookAhead));
      const rows = await db.query<{ seq: bigint }>({
        text: 'select seq from pulsefeed.entity_event order by seq',
      });
      return rows.map(({ seq }) => Number(seq));
    };
    // 1. The feed goes on in what is looked at behind the part: all of it goes.
    assert.deepEqual(await kept(0n, 3n, 4), [4, 5, ...range(6, 20)]);
    // 2. Nothing of the feed is found: its last one stays, and the lively one, which goes on, keeps none of the part.
    assert.deepEqual(await kept(3n, 8n, 4), [5, ...range(9, 20)]);
    // 3. Without a look behind the part the last of it stays, though the feed goes on.
    assert.deepEqual(await kept(8n, 12n, 0), [5, 12, ...range(13, 20)]);
    // 4. To the end: each feed has a pulse above its horizon.
    assert.deepEqual(await kept(12n, 20n, 4), [5, 12, 20]);
    const horizons = await db.query({
      text: 'select feed_id, seq from pulsefeed.tombstone_horizon order by 1',
    });
    assert.deepEqual(horizons, [
      { feed_id: 100, seq: 4n },
      { feed_id: 101, seq: 19n },
    ]);
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
