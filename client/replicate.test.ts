import assert from 'node:assert/strict';
import pg from 'pg';
import { testDatabase } from '../testing/postgres.ts';
import { until } from '../testing/until.ts';
import { decodeCursor } from './cursor.ts';
import type { Progress } from './progress.ts';
import { type ReplicateOptions, replicate } from './replicate.ts';
import { ReplicationError } from './replication-error.ts';
import type { Store } from './store.ts';
import { callbackStore } from './stores/callback.ts';
import { type MemoryStore, memoryStore } from './stores/memory.ts';
import { postgresStore } from './stores/postgres.ts';
import { differences, watched } from './testing/copy-check.ts';
import { fastTiming } from './testing/fast-timing.ts';
import { type OddServer, startOddServer } from './testing/odd-server.ts';
import { OddSource } from './testing/odd-source.ts';
import type { OddSwitches } from './testing/odd-switches.ts';
import { seededRandom } from './testing/seeded-random.ts';

interface World {
  readonly source: OddSource;
  readonly server: OddServer;
  readonly store: MemoryStore;
  readonly notices: string[];
  readonly options: ReplicateOptions;
}

async function withWorld(
  switches: Partial<OddSwitches>,
  use: (world: World) => Promise<void>,
): Promise<void> {
  const random = seededRandom(7);
  const source = new OddSource(random);
  const server = await startOddServer(source, random, switches);
  const store = memoryStore();
  const notices: string[] = [];
  const options: ReplicateOptions = {
    ...{ url: server.url, store: watched(store, source), timing: fastTiming(random) },
    onNotice: ({ code }) => notices.push(code),
  };
  try {
    await use({ source, server, store, notices, options });
  } finally {
    await server.close();
  }
}

async function cursorOf(store: Store) {
  return decodeCursor((await store.cursor()) ?? assert.fail('no cursor'));
}

describe('replicate', () => {
  it('fetches a record once for all pulses in hand, and for all later ones up to a head it was told', () =>
    withWorld({ annotations: true, pageSize: 10 }, async ({ source, server, options }) => {
      for (let round = 0; round < 30; round++) for (let n = 0; n < 20; n++) source.put('Property', `P${n}`);
      const fetched: string[] = [];
      server.onRequest = url => {
        if (/filter=ListingKey/.test(url)) fetched.push(...(decodeURIComponent(url).match(/'P\d+'/g) ?? []));
      };
      await replicate({ ...options, windowSize: 50, readAhead: 50 });
      assert.deepEqual(fetched.sort(), [...new Set(fetched)]);
      assert.equal(fetched.length, 20);
    }));

  it('keeps the bound of requests in flight, and batches', () =>
    withWorld({ lateMs: 5 }, async ({ source, server, options }) => {
      for (let n = 0; n < 600; n++) source.put('Property', `P${n}`);
      await replicate({ ...options, concurrency: 3, batchSize: 20 });
      assert.ok(server.flight.most <= 3, `${server.flight.most} in flight`);
      // The first windows hold what was in hand; from then on batches are full.
      assert.ok(server.requests.batch <= 45, `${server.requests.batch} batches`);
      assert.equal(server.requests.single, 0);
    }));

  it('never lets an old answer overwrite a newer one, though the page of the newer is in hand', () =>
    withWorld({}, async ({ source, server, store, options }) => {
      source.put('Property', 'A');
      const stopping = new AbortController();
      const told: bigint[] = [];
      let fetches = 0;
      let inFlight = 0;
      let overlapped = false;
      server.onRequest = url => {
        const after = /gt%20(\d+)/.exec(url)?.[1];
        if (after !== undefined) told.push(BigInt(after));
      };
      server.beforeSending = async url => {
        if (/EntityEvent|metadata/.test(url)) return;
        if (++inFlight > 1) overlapped = true;
        if (++fetches === 1) {
          // 1. The answer with the first state of A is made. 2. A changes. 3. The walk has read the pulse of the change. 4. The answer goes out.
          source.put('Property', 'A');
          const changed = source.head;
          await until('the pulse to be read ahead', () => told.includes(changed));
        }
        inFlight--;
      };
      const following = replicate({ ...options, follow: true, signal: stopping.signal });
      await until(
        'an equal copy',
        async () => fetches >= 2 && (await differences(source, store)).length === 0,
      );
      stopping.abort(new Error('enough'));
      await following;
      assert.equal(overlapped, false);
    }));

  it('starts again after 410 and then removes what the source no longer has, asking for each by key', () =>
    withWorld({}, async ({ source, server, store, notices, options }) => {
      source.fill(20);
      await replicate(options);
      // A restore: the log and some records are gone, a record stays that no pulse names.
      const lost = [...(source.records.get('Media')?.keys() ?? [])].slice(0, 10);
      for (const key of lost) source.remove('Media', key);
      source.put('Office', 'unnamed');
      const { last } = await cursorOf(store);
      const gone = new Set(['unnamed', ...lost]);
      source.log.splice(
        0,
        source.log.length,
        ...source.log.filter(({ key, sequence }) => !gone.has(key) && sequence <= (last ?? 0n)),
      );
      source.head = source.log.at(-1)?.sequence ?? 0n;
      await store
        .apply({
          upserts: [{ resource: 'Office', key: 'unnamed', record: {} }],
          deletes: [],
          generation: 1,
          cursor: () => 'x',
        })
        .then(() => {});
      await store.apply({
        upserts: [],
        deletes: [],
        generation: 1,
        cursor: () =>
          JSON.stringify({
            version: 1,
            source: server.url,
            resources: ['Office', 'Media', 'Property', 'Member', 'Numbered'],
            last: '5',
            generation: 1,
            walk: 'done',
          }),
      });
      server.switches.goneAbove = 4n;
      server.onRequest = url => {
        // Cleared by the first page of the new walk.
        if (/ge%200/.test(url)) server.switches.goneAbove = undefined;
      };
      await replicate(options);
      assert.deepEqual(await differences(source, store), []);
      assert.ok(notices.includes('reinitialise') && notices.includes('unmet-record'));
      assert.deepEqual((({ generation, walk }) => ({ generation, walk }))(await cursorOf(store)), {
        generation: 2,
        walk: 'done',
      });
    }));

  it('starts again when the head of the source is behind the copy', () =>
    withWorld({ annotations: true }, async ({ source, server, store, notices, options }) => {
      source.fill(5);
      await replicate(options);
      const other = new OddSource(seededRandom(8));
      other.put('Office', 'only');
      for (const [resource, records] of source.records)
        for (const key of records.keys()) source.removed.add(`${resource} ${key}`);
      for (const [resource, records] of other.records) source.records.set(resource, records);
      source.log.splice(0, source.log.length, ...other.log);
      source.head = other.head;
      source.epoch = 'e2';
      await replicate(options);
      assert.ok(notices.includes('reinitialise') && notices.includes('epoch'));
      assert.deepEqual(await differences(source, store), []);
      assert.equal(server.requests.page > 2, true);
    }));

  it('takes a page that comes again neither for the head nor for another log', () =>
    withWorld({ annotations: true }, async ({ source, server, store, notices, options }) => {
      source.fill(5);
      await replicate(options);
      for (let n = 0; n < 5; n++) source.put('Office', `new ${n}`);
      // The last page once more: it ends with the position and names it as the head.
      server.switches.repeatPage = 1;
      server.beforeSending = async () => {
        if (server.requests.page > pages) server.switches.repeatPage = 0;
      };
      const pages = server.requests.page;
      await replicate(options);
      assert.deepEqual(await differences(source, store), []);
      // A page from before the position.
      const { head } = source;
      source.head = 1n;
      server.beforeSending = async url => {
        if (/EntityEvent\?/.test(url)) source.head = head;
      };
      await replicate(options);
      assert.ok(!notices.includes('reinitialise'));
    }));

  it('follows at the head by long poll, and ends in good order when it is told to', () =>
    withWorld({ waits: true, annotations: true }, async ({ source, store, options }) => {
      source.fill(5);
      const stopping = new AbortController();
      const seen: Progress[] = [];
      const following = replicate({
        ...options,
        follow: true,
        signal: stopping.signal,
        onProgress: p => seen.push(p),
      });
      await until('the head', () => seen.some(({ atHead }) => atHead));
      for (let n = 0; n < 50; n++) source.edit();
      await until('the new head', () => seen.some(({ last }) => last === source.head));
      stopping.abort(new Error('enough'));
      const { ended, progress } = await following;
      assert.equal(ended, 'aborted');
      assert.equal(progress.lag, 0n);
      assert.deepEqual(await differences(source, store), []);
    }));

  it('goes on following through a failing source', () =>
    withWorld({ waits: true }, async ({ source, server, store, notices, options }) => {
      source.fill(2);
      const stopping = new AbortController();
      const following = replicate({
        ...options,
        follow: true,
        signal: stopping.signal,
        retry: { attempts: 3, capMs: 1 },
      });
      await until('an equal copy', async () => (await differences(source, store)).length === 0);
      server.switches.fail = 1;
      await until('a notice', () => notices.includes('source-failing'));
      source.put('Office', 'new');
      server.switches.fail = 0;
      await until('an equal copy', async () => (await differences(source, store)).length === 0);
      stopping.abort(new Error('enough'));
      assert.equal((await following).ended, 'aborted');
    }));

  it('keeps only the resources that were asked for, and walks again when more are', () =>
    withWorld({}, async ({ source, store, notices, options }) => {
      source.fill(10);
      await replicate({ ...options, resources: ['Office'] });
      assert.equal(store.contents('Office').size, source.records.get('Office')?.size);
      assert.equal(store.contents('Media').size, 0);
      await replicate({ ...options, resources: ['Office'] });
      assert.ok(!notices.includes('reinitialise'));
      await replicate(options);
      assert.ok(notices.includes('reinitialise'));
      assert.deepEqual(await differences(source, store), []);
      const unknown = replicate({ ...options, resources: ['Nothing'] });
      await assert.rejects(unknown, error => error instanceof ReplicationError && error.code === 'usage');
    }));

  it('refuses a copy of another source, except when told to walk again', () =>
    withWorld({}, async ({ source, store, options }) => {
      source.fill(3);
      await replicate(options);
      await withWorld({}, async ({ source: other, server }) => {
        other.put('Office', 'theirs');
        for (const [resource, records] of source.records)
          for (const key of records.keys()) other.removed.add(`${resource} ${key}`);
        const moved = { ...options, url: server.url, store: watched(store, other) };
        await assert.rejects(
          replicate(moved),
          error => error instanceof ReplicationError && error.code === 'other-source',
        );
        assert.deepEqual(await differences(source, store), []);
        await replicate({ ...moved, reinitialise: true });
        assert.deepEqual(await differences(other, store), []);
      });
    }));

  it('deletes nothing because a whole resource answers 404', () =>
    withWorld({}, async ({ source, server, store, options }) => {
      for (let n = 0; n < 5; n++) source.put('Office', `O${n}`);
      await replicate(options);
      server.switches.lostResource = 'Office';
      for (let n = 0; n < 5; n++) source.put('Office', `O${n}`);
      const lost = replicate(options);
      await assert.rejects(lost, error => error instanceof ReplicationError && error.code === 'refused');
      assert.equal(store.contents('Office').size, 5);
      server.switches.lostResource = undefined;
      await replicate(options);
      assert.deepEqual(await differences(source, store), []);
    }));

  it('passes over resources that the metadata lacks and says so', () =>
    withWorld({}, async ({ source, store, notices, options }) => {
      source.put('Office', '1');
      source.pulse('Showing', '1');
      await replicate(options);
      assert.deepEqual(notices.filter(code => code === 'unknown-resource').length, 1);
      assert.deepEqual(await differences(source, store), []);
    }));

  it('gives the store parents before children, and children before parents when they go', () =>
    withWorld({}, async ({ source, options }) => {
      const written: string[] = [];
      const store = callbackStore({
        loadCursor: async () => undefined,
        apply: async ({ upserts, deletes, cursor }) => {
          cursor([]);
          written.push(
            ...upserts.map(({ resource }) => `+${resource}`),
            ...deletes.map(({ resource }) => `-${resource}`),
          );
          return undefined;
        },
      });
      for (const resource of ['Media', 'Property', 'Member', 'Office']) source.put(resource, '1');
      for (const resource of ['Media', 'Property', 'Member', 'Office']) source.pulse(resource, 'gone');
      await replicate({ ...options, store });
      const at = (what: string) => written.indexOf(what);
      assert.ok(
        at('+Property') < at('+Media') &&
          at('+Office') < at('+Member') &&
          at('-Media') < at('-Property') &&
          at('-Member') < at('-Office'),
        written.join(),
      );
    }));

  it('keeps a child whose parent is not there yet, through a restart, and tries it again', () =>
    withWorld({ annotations: true }, async ({ source, notices, options }) => {
      const { url, drop } = await testDatabase();
      const first = postgresStore({ url });
      source.put('Property', 'other');
      await replicate({ ...options, store: first });
      const client = new pg.Client(url);
      await client.connect();
      // Media names its parent by its own key here, so that the order can be broken at will.
      await client.query(
        'alter table "Media" add foreign key ("MediaKey") references "Property" ("ListingKey") deferrable initially immediate',
      );
      await client.end();
      source.put('Media', 'K');
      await replicate({ ...options, store: first });
      assert.ok(notices.includes('waiting'));
      assert.deepEqual((await cursorOf(first)).waiting, [{ resource: 'Media', key: 'K' }]);
      await first.close();
      source.put('Property', 'K');
      const second = postgresStore({ url });
      await replicate({ ...options, store: second });
      assert.deepEqual((await cursorOf(second)).waiting, []);
      assert.deepEqual(await differences(source, second), []);
      await second.close();
      await drop();
    }));

  it('uses a batch function of the user, and confirms by key what it leaves out', () =>
    withWorld({}, async ({ source, server, store, options }) => {
      source.fill(10);
      const fetchBatch: ReplicateOptions['fetchBatch'] = async (resource, keys) => {
        const records = source.records.get(resource);
        return new Map(keys.flatMap((key, n) => (n % 2 ? [] : [[key, records?.get(key) ?? {}] as const])));
      };
      await replicate({ ...options, fetchBatch });
      assert.deepEqual(await differences(source, store), []);
      assert.ok(server.requests.single > 0);
    }));

  it('does without metadata when it is told the keys', () =>
    withWorld({}, async ({ source, store, options }) => {
      for (let n = 0; n < 10; n++) source.put('Office', `O${n}`);
      await replicate({ ...options, keys: { Office: 'OfficeKey' } });
      assert.deepEqual(await differences(source, store), []);
    }));

  it('tells how far it is', () =>
    withWorld({ annotations: true, pageSize: 10, lateMs: 2 }, async ({ source, options }) => {
      for (let n = 0; n < 200; n++) source.put('Office', `O${n}`);
      const seen: Progress[] = [];
      const { ended, progress } = await replicate({
        ...options,
        windowSize: 20,
        onProgress: p => seen.push(p),
      });
      assert.equal(ended, 'head');
      assert.deepEqual(
        [progress.events, progress.upserts, progress.lag, progress.secondsLeft],
        [200, 200, 0n, 0],
      );
      assert.ok(
        seen.length > 5 &&
          seen.every(({ head, lag, last }) => head === source.head && lag === source.head - (last ?? 0n)),
      );
      assert.ok(
        seen.some(({ eventsPerSecond, secondsLeft }) => eventsPerSecond > 0 && (secondsLeft ?? 0) > 0),
      );
    }));

  it('refuses senseless options', async () => {
    const store = memoryStore();
    for (const bad of [
      { url: 'no url' },
      { url: 'ftp://x' },
      { url: 'http://a:b@x' },
      { windowSize: 0 },
      { concurrency: 0 },
      { batchSize: 1.5 },
    ]) {
      const options = { url: 'http://127.0.0.1:9', store, retry: { attempts: 1 }, ...bad };
      await assert.rejects(
        replicate(options),
        error => error instanceof ReplicationError && error.code === 'usage',
        JSON.stringify(bad),
      );
    }
  });
});
