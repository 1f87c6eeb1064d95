import assert from 'node:assert/strict';
import { openFeed } from '../../testing/captured-feed.ts';
import { anonymous } from '../base/auth/viewer.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import type { Db, Statement } from '../base/db/index.ts';
import { bindFilter, bindOrderBy, parseExpression, parseOrderBy } from '../edm/index.ts';
import { historySets } from './index.ts';

const resource: ResourceConfig = { name: 'Property', table: 'property', key: 'key', history: true };

describe('the plan of a page of HistoryTransactional', () => {
  it('walks the index of the numbers or of the record, and probes the records one by one', async () => {
    const { runtime, provider } = await openFeed('create table property (key text primary key, v text)', [
      resource,
    ]);
    await provider.run(
      `insert into property select 'K' || n, 'v' from generate_series(1, 5000) n;
       delete from pulsefeed.history;
       insert into pulsefeed.history (change_id, resource, key, field, previous_value, new_value, seq, feeds)
       select n, 'Property', 'K' || (1 + n % 5000), 'v', 'a', 'b', n / 2 + 1, '{1}' from generate_series(1, 20000) n;
       insert into pulsefeed.resource (name) values ('Property');
       insert into pulsefeed.record_state (resource_id, key, vis)
       select r.id, p.key, '{1}' from property p, pulsefeed.resource r;
       analyze property; analyze pulsefeed.history; analyze pulsefeed.record_state`,
    );
    let asked: Statement | undefined;
    const db: Db = Object.assign(Object.create(runtime.db) as Db, {
      query: (statement: Statement) => {
        asked = statement;
        return runtime.db.query(statement);
      },
    });
    const [set] = historySets(db, runtime.policy, runtime.tables);
    assert.ok(set !== undefined);
    const { type } = set;
    const plans: string[] = [];
    for (const filter of [
      'EntityEventSequence gt 5000',
      "ResourceName eq 'Property' and ResourceRecordKey eq 'K7'",
    ]) {
      const page = await set.readPage(
        {
          root: '',
          expand: [],
          ieee754: false,
          omitNulls: false,
          filter: bindFilter(parseExpression(filter), type),
          orderBy: bindOrderBy(parseOrderBy('HistoryTransactionalKey'), type),
          limit: 100,
          skip: 0,
          count: false,
        },
        anonymous,
      );
      assert.ok(page.rows.length > 3);
      assert.ok(asked !== undefined);
      const rows = await runtime.db.query<{ 'QUERY PLAN': string }>({
        text: `explain ${asked.text}`,
        values: asked.values ?? [],
      });
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'));
    }
    const [byNumber = '', byRecord = ''] = plans;
    assert.match(byNumber, /Index Scan using history_seq/);
    assert.doesNotMatch(byNumber, /Sort|Seq Scan on property/);
    assert.match(byRecord, /Index Scan using history_record/);
    assert.doesNotMatch(byRecord, /Seq Scan on (?:property|history)/);
  });
});
