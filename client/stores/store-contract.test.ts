import assert from 'node:assert/strict';
import { join } from 'node:path';
import pg from 'pg';
import { testDatabase } from '../../testing/postgres.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { canonicalText, type SourceRecord } from '../canonical.ts';
import { ExactDecimal } from '../exact-json.ts';
import { readMetadata } from '../metadata.ts';
import { ReplicationError } from '../replication-error.ts';
import type { Batch, Store, Upsert } from '../store.ts';
import { HARD_KEYS, METADATA } from '../testing/odd-source.ts';
import { callbackStore } from './callback.ts';
import { memoryStore } from './memory.ts';
import { ndjsonStore } from './ndjson.ts';
import { postgresStore } from './postgres.ts';
import { sqliteStore } from './sqlite.ts';

/** A place where stores can be opened again and again, as after a restart. */
interface Place {
  open(): Store;
  remove(): Promise<void>;
}

const schema = readMetadata(METADATA);

const PLACES: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const store = memoryStore();
    return { open: () => store, remove: async () => {} };
  },
  callback: async () => {
    const inner = memoryStore();
    const open = () =>
      callbackStore({
        open: given => inner.open(given),
        loadCursor: () => inner.cursor(),
        apply: batch => inner.apply(batch),
        stale: async (generation, limit) => (await inner.stale(generation, limit)) ?? [],
        records: resource => inner.records(resource) ?? assert.fail(),
        has: (resource, keys) => inner.has(resource, keys),
      });
    return { open, remove: async () => {} };
  },
  NDJSON: async () => {
    const folder = await temporaryFolder('ndjson');
    return { open: () => ndjsonStore(join(folder.path, 'copy.ndjson')), remove: folder.remove };
  },
  SQLite: async () => {
    const folder = await temporaryFolder('sqlite');
    return { open: () => sqliteStore(join(folder.path, 'copy.sqlite')), remove: folder.remove };
  },
  Postgres: async () => {
    const { url, drop } = await testDatabase();
    return { open: () => postgresStore({ url, schema: 'copy' }), remove: drop };
  },
};

function batch(cursor: string, parts: Partial<Omit<Batch, 'cursor'>>): Batch {
  return { upserts: [], deletes: [], generation: 1, ...parts, cursor: () => cursor };
}

function property(key: string, fields: SourceRecord = {}): Upsert {
  return { resource: 'Property', key, record: { ListingKey: key, ...fields } };
}

async function contents(store: Store, resource: string): Promise<Map<string, string>> {
  const fields = schema.resources.get(resource)?.fields ?? [];
  const found = new Map<string, string>();
  for await (const { key, record } of store.records(resource) ?? []) {
    assert.ok(!found.has(key), `${key} comes once`);
    found.set(key, canonicalText(fields, record));
  }
  return found;
}

function expected(...upserts: Upsert[]): Map<string, string> {
  return new Map(
    upserts.map(({ resource, key, record }) => [
      key,
      canonicalText(schema.resources.get(resource)?.fields ?? [], record),
    ]),
  );
}

/** Values that some column type, encoding or number format would change. */
const HARD_RECORD: SourceRecord = {
  ListPrice: new ExactDecimal('123456789012345678901.123456789'),
  SourceId: 9223372036854775807n,
  YearBuilt: 99999999999,
  StandardStatus: 'Active',
  Appliances: ['a', '東京 🏠', 'nul \u0000'],
  WaterfrontYN: 'not a boolean',
  Latitude: 0.1,
  ListingContractDate: '0000-00-00',
  ModificationTimestamp: '2024-02-29T23:59:59.1234567+05:30',
  PublicRemarks: 'nul \u0000, quote \' ", slash \\, newline \n, \u2028, 東京 🏠',
  Unknown_Number: 9007199254740993n,
  Unknown_Object: { b: [1, { c: null }], a: new ExactDecimal('1e400') },
  __proto__x: 'field',
  [`Long_${'x'.repeat(80)}`]: 'longer than a Postgres name',
};

for (const [name, makePlace] of Object.entries(PLACES)) {
  describe(`the ${name} store`, () => {
    let place: Place;
    let store: Store;
    beforeEach(async () => {
      place = await makePlace();
      store = place.open();
      await store.open(schema);
    });
    afterEach(async () => {
      await store.close();
      await place.remove();
    });

    it('has no cursor at first and then the one of the last batch, also after it was closed and opened', async () => {
      assert.equal(await store.cursor(), undefined);
      await store.apply(batch('one', { upserts: [property('1')] }));
      await store.apply(batch('two "quoted" 東京', {}));
      assert.equal(await store.cursor(), 'two "quoted" 東京');
      await store.close();
      store = place.open();
      await store.open(schema);
      assert.equal(await store.cursor(), 'two "quoted" 東京');
      assert.deepEqual(await contents(store, 'Property'), expected(property('1')));
    });

    it('gives every record back with the same meaning', async () => {
      const hard = property('hard', HARD_RECORD);
      const plain = property('plain', {
        ListPrice: 12.5,
        SourceId: 1,
        ModificationTimestamp: '2024-01-01T00:00:00Z',
        YearBuilt: null,
      });
      await store.apply(batch('c', { upserts: [hard, plain] }));
      await store.close();
      store = place.open();
      await store.open(schema);
      assert.deepEqual(await contents(store, 'Property'), expected(hard, plain));
    });

    it('keeps keys with every hard character apart', async () => {
      const upserts = HARD_KEYS.map(key => property(key, { PublicRemarks: `remarks of ${key}` }));
      await store.apply(batch('c', { upserts }));
      assert.deepEqual(await contents(store, 'Property'), expected(...upserts));
      assert.deepEqual(await store.has('Property', [...HARD_KEYS, 'absent']), new Set(HARD_KEYS));
      await store.apply(
        batch('d', { deletes: HARD_KEYS.slice(1).map(key => ({ resource: 'Property', key })) }),
      );
      assert.deepEqual([...(await contents(store, 'Property')).keys()], HARD_KEYS.slice(0, 1));
    });

    it('keeps number keys past 2^53', async () => {
      const key = '9007199254740993';
      await store.apply(
        batch('c', { upserts: [{ resource: 'Numbered', key, record: { NumberedKey: BigInt(key) } }] }),
      );
      assert.deepEqual([...(await contents(store, 'Numbered')).keys()], [key]);
      assert.deepEqual(await store.has('Numbered', [key, '9007199254740992', 'x']), new Set([key]));
      await store.apply(
        batch('d', {
          deletes: [
            { resource: 'Numbered', key },
            { resource: 'Numbered', key: 'x' },
          ],
        }),
      );
      assert.equal((await contents(store, 'Numbered')).size, 0);
    });

    it('writes a record whole: a field that is gone does not stay', async () => {
      await store.apply(batch('c', { upserts: [property('1', { PublicRemarks: 'old', Extra_Field: 1 })] }));
      await store.apply(batch('d', { upserts: [property('1', { ListPrice: 2 })] }));
      assert.deepEqual(await contents(store, 'Property'), expected(property('1', { ListPrice: 2 })));
    });

    it('lists the records that no batch of the present generation has written', async () => {
      await store.apply(batch('c', { upserts: ['1', '2', '3', '4'].map(key => property(key)) }));
      await store.apply(batch('d', { upserts: [property('2')], generation: 2 }));
      const all = (await store.stale(2, 100)) ?? [];
      assert.deepEqual(all.map(({ key }) => key).sort(), ['1', '3', '4']);
      assert.equal((await store.stale(2, 2))?.length, 2);
      await store.close();
      store = place.open();
      await store.open(schema);
      assert.equal((await store.stale(2, 100))?.length, 3);
    });

    it('may be opened twice, and closed twice', async () => {
      await store.apply(batch('c', { upserts: [property('1')] }));
      await store.open(schema);
      assert.equal((await contents(store, 'Property')).size, 1);
      await store.close();
      await store.close();
    });

    if (name !== 'memory' && name !== 'callback') {
      it('refuses an owner once another has opened the copy', async () => {
        const other = place.open();
        await other.open(schema);
        await assert.rejects(
          store.apply(batch('mine', {})),
          error => error instanceof ReplicationError && error.code === 'not-alone',
        );
        await other.apply(batch('theirs', { upserts: [property('1')] }));
        assert.equal(await other.cursor(), 'theirs');
        await other.close();
      });

      it('shows nothing of a batch whose cursor fails', async () => {
        await store.apply(batch('good', { upserts: [property('1')] }));
        const failing: Batch = {
          ...batch('', { upserts: [property('2')], deletes: [{ resource: 'Property', key: '1' }] }),
          cursor: () => assert.fail('no cursor'),
        };
        await assert.rejects(store.apply(failing));
        assert.equal(await store.cursor(), 'good');
        assert.deepEqual([...(await contents(store, 'Property')).keys()], ['1']);
      });
    }
  });
}

describe('the Postgres store', () => {
  it('makes typed columns, keeps what does not fit beside them, and adds columns that newer metadata has', async () => {
    const { url, drop } = await testDatabase();
    const older = {
      resources: new Map(
        [...schema.resources].map(([name, r]) => [
          name,
          { ...r, fields: r.fields.filter(f => f.name !== 'ListPrice') },
        ]),
      ),
    };
    const store = postgresStore({ url });
    await store.open(older);
    await store.apply(batch('c', { upserts: [property('1', { ListPrice: 1.5, YearBuilt: 1999 })] }));
    await store.open(schema);
    await store.apply(batch('d', { upserts: [property('2', { ...HARD_RECORD, ListPrice: 2.5 })] }));
    assert.deepEqual(
      await contents(store, 'Property'),
      expected(
        property('1', { ListPrice: 1.5, YearBuilt: 1999 }),
        property('2', { ...HARD_RECORD, ListPrice: 2.5 }),
      ),
    );
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query(
      `select "ListPrice"::text as price, "SourceId"::text as id, "YearBuilt" as year, pulsefeed_extra ? 'YearBuilt' as kept from "Property" order by 1`,
    );
    assert.deepEqual(rows, [
      { price: '2.5', id: '9223372036854775807', year: null, kept: true },
      { price: null, id: null, year: 1999, kept: false },
    ]);
    await client.end();
    await store.close();
    await drop();
  });

  it('defers a child whose parent is missing where the user added a foreign key, and a parent whose child remains', async () => {
    const { url, drop } = await testDatabase();
    const store = postgresStore({ url });
    await store.open(schema);
    const client = new pg.Client(url);
    await client.connect();
    await client.query(
      'alter table "Media" add foreign key ("ResourceRecordKey") references "Property" ("ListingKey")',
    );
    await client.end();
    const media = (key: string, parent: string): Upsert => ({
      resource: 'Media',
      key,
      record: { MediaKey: key, ResourceRecordKey: parent },
    });
    const first = await store.apply(
      batch('c', { upserts: [property('1'), media('m1', '1'), media('m2', '2')] }),
    );
    assert.deepEqual(first.deferred, [{ resource: 'Media', key: 'm2' }]);
    const second = await store.apply(
      batch('d', {
        upserts: [property('2'), media('m2', '2')],
        deletes: [{ resource: 'Property', key: '1' }],
      }),
    );
    assert.deepEqual(second.deferred, [{ resource: 'Property', key: '1' }]);
    assert.deepEqual([...(await contents(store, 'Media')).keys()].sort(), ['m1', 'm2']);
    await store.close();
    await drop();
  });
});
