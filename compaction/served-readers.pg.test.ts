import assert from 'node:assert/strict';
import { issueConsumer } from '../server/access/index.ts';
import { retireFromStart, sweep } from '../server/log/index.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { type ServedFeeds, serveFeeds } from '../testing/served-feeds.ts';

const readers = 20;
const records = 24;
const rounds = 8;
const pageSize = 6;

const feeds = {
  IDX: { Property: 'a eq 1' },
  VOW: { Property: 'a ge 1' },
  BBO: { Property: 'a eq 2' },
  // A feed an office: without a bit, read through postings.
  OFFICE: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
};
const held = [['IDX'], ['VOW'], ['BBO'], ['OFFICE'], ['IDX', 'OFFICE'], ['IDX', 'BBO']] as const;

interface Row {
  readonly ListingKey: string;
  readonly v: number;
}
interface Page {
  readonly value: readonly { EntityEventSequence: number; ResourceName: string; ResourceRecordKey: string }[];
  readonly '@odata.nextLink'?: string;
}

/** A consumer with a copy of its own, over HTTP and nothing else. */
interface Reader {
  readonly name: string;
  ask(target: string): Promise<Response>;
  readonly copy: Map<string, number>;
}

async function openReader(served: ServedFeeds, index: number): Promise<Reader> {
  const grants = held[index % held.length] ?? [];
  const name = `reader ${index} of ${grants.join(' and ')}`;
  const { token } = await issueConsumer(served.runtime.db, {
    name,
    feeds: grants,
    attributes: { OfficeKey: [`O${index % 2}`] },
    scopes: ['read'],
  });
  const headers = { Authorization: `Bearer ${token}`, Prefer: `odata.maxpagesize=${1 + (index % pageSize)}` };
  const url = served.urls[index % served.urls.length] ?? '';
  return {
    name,
    ask: target => fetch(target.startsWith('http') ? target : `${url}/${target}`, { headers }),
    copy: new Map(),
  };
}

/** Fetches what one page names; where the next begins, undefined for a page without pulses. */
async function takePage(reader: Reader, target: string, byLink: boolean): Promise<string | undefined> {
  const answer = await reader.ask(target);
  if (answer.status !== 200) assert.fail(`${reader.name}: ${target}: ${await answer.text()}`);
  const page = (await answer.json()) as Page;
  for (const { ResourceRecordKey: key } of page.value) {
    const record = await reader.ask(`Property('${key}')`);
    if (record.status === 404) reader.copy.delete(key);
    else reader.copy.set(key, ((await record.json()) as Row).v);
  }
  const last = page.value.at(-1)?.EntityEventSequence;
  if (last === undefined) return undefined;
  return (byLink ? page['@odata.nextLink'] : undefined) ?? after(last);
}

const after = (sequence: number) => `EntityEvent?$filter=EntityEventSequence gt ${sequence}`;

async function visible(reader: Reader): Promise<[string, number][]> {
  const answer = await reader.ask('Property?$select=ListingKey,v&$top=1000');
  const found: [string, number][] = [];
  for (let page = await answer.json(); ; ) {
    const { value, '@odata.nextLink': next } = page as { value: Row[]; '@odata.nextLink'?: string };
    found.push(...value.map(({ ListingKey, v }): [string, number] => [ListingKey, v]));
    if (next === undefined) return found.sort();
    page = await (await reader.ask(next)).json();
  }
}

describe('compaction between every two pages of consumers over HTTP', () => {
  it(`leaves ${readers} of them with what they may see, with writers running`, async function () {
    this.timeout(120_000);
    const served = await serveFeeds({ feeds, servers: 2 });
    const { db, log } = served.runtime;
    await served.write(
      `insert into property select 'p' || g, 'O' || g % 2, g % 3, 0 from generate_series(1, ${records}) g`,
    );
    await served.number();
    const random = seededRandom();
    const state = { writing: true, compacted: 0 };
    const compactSome = async (turn: number) => {
      state.compacted += 1;
      if (turn % 2 > 0) return void (await log.retire({ lag: { events: 0n }, limit: 7 }));
      const { head } = await log.head();
      // From the start, else there is nothing left where the steps have been.
      await retireFromStart(db);
      await sweep({ db, target: head, rest: async () => undefined, now: () => 0, rows: 9, parts: 1 });
    };
    const write = async () => {
      for (let round = 0; round < rounds; round += 1) {
        const some = () => `'p${1 + random.below(records)}'`;
        await served.write(`
update property set a = ${random.below(4)}, v = v + 1 where "ListingKey" in (${some()}, ${some()}, ${some()});
update property set "ListOfficeKey" = 'O${random.below(3)}', v = v + 1 where "ListingKey" = ${some()};
delete from property where "ListingKey" = ${some()};
insert into property values (${some()}, 'O1', 1, ${100 * round}) on conflict do nothing`);
        await served.number();
        // It leaves every feed but its office's, and changes there unseen by the others.
        const hidden = `${some()}, ${some()}, ${some()}`;
        for (const change of ['a = 0, v = v + 1', 'v = v + 1']) {
          await served.write(`update property set ${change} where "ListingKey" in (${hidden})`);
          await served.number();
        }
      }
      state.writing = false;
    };
    const follow = async (index: number) => {
      const reader = await openReader(served, index);
      for (let turn = 0, target = after(0); ; turn += 1) {
        assert.ok(turn < 1_000, `${reader.name} does not come to the end`);
        const writing = state.writing;
        const next = await takePage(reader, target, index % 2 === 0);
        await compactSome(index + turn);
        if (next === undefined && !writing) return reader;
        target = next ?? target;
      }
    };
    const [, ...followed] = await Promise.all([
      write(),
      ...Array.from({ length: readers }, (_, index) => follow(index)),
    ]);
    for (const reader of followed)
      assert.deepEqual([...reader.copy].sort(), await visible(reader), `${reader.name}; ${random.seed}`);
    assert.ok(state.compacted > readers);
    const [mark] = await db.query<{ dropped: bigint }>({ text: 'select dropped from pulsefeed.compaction' });
    assert.ok((mark?.dropped ?? 0n) > 0n, 'nothing was compacted');
  });
});
