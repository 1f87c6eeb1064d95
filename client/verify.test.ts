import assert from 'node:assert/strict';
import { replicate } from './replicate.ts';
import { ReplicationError } from './replication-error.ts';
import { callbackStore } from './stores/callback.ts';
import { type MemoryStore, memoryStore } from './stores/memory.ts';
import { differences } from './testing/copy-check.ts';
import { fastTiming } from './testing/fast-timing.ts';
import { type OddServer, startOddServer } from './testing/odd-server.ts';
import { OddSource } from './testing/odd-source.ts';
import { seededRandom } from './testing/seeded-random.ts';
import { type VerifyOptions, verify } from './verify.ts';

interface World {
  readonly source: OddSource;
  readonly server: OddServer;
  readonly store: MemoryStore;
  readonly options: VerifyOptions;
}

/** A source and a copy of it. */
async function withCopy(use: (world: World) => Promise<void>): Promise<void> {
  const random = seededRandom(3);
  const source = new OddSource(random);
  source.fill(30);
  const server = await startOddServer(source, random);
  const store = memoryStore();
  const options = { url: server.url, store, timing: fastTiming(random) };
  try {
    await replicate(options);
    await use({ source, server, store, options });
  } finally {
    await server.close();
  }
}

/** Damages the copy in all three ways, without its cursor knowing. */
async function damage({ source, store }: World): Promise<{ changed: string; dropped: string }> {
  const [changed = '', dropped = ''] = source.records.get('Property')?.keys() ?? [];
  const cursor = await store.cursor();
  const record = { ...source.records.get('Property')?.get(changed), ListPrice: -1 };
  await store.apply({
    upserts: [
      { resource: 'Property', key: changed, record },
      { resource: 'Media', key: 'ghost', record: { MediaKey: 'ghost' } },
    ],
    deletes: [{ resource: 'Property', key: dropped }],
    generation: 1,
    cursor: () => cursor ?? '',
  });
  return { changed, dropped };
}

describe('verify', () => {
  it('finds nothing in an equal copy', () =>
    withCopy(async ({ source, options }) => {
      const { checked, listed, differences: found, advice } = await verify(options);
      const total = [...source.records.values()].reduce((sum, records) => sum + records.size, 0);
      assert.deepEqual([checked, listed, found, advice], [total, total, [], 'The copy equals the source.']);
    }));

  it('finds what is missing, extra and different, with the fields, and mends it when told to', () =>
    withCopy(async world => {
      const { changed, dropped } = await damage(world);
      const { source, store, options } = world;
      const expected = [
        { kind: 'different', resource: 'Property', key: changed, fields: ['ListPrice'] },
        { kind: 'extra', resource: 'Media', key: 'ghost' },
        { kind: 'missing', resource: 'Property', key: dropped },
      ];
      const by = (one: { kind: string }, other: { kind: string }) => one.kind.localeCompare(other.kind);
      const { differences: found, repaired, advice } = await verify(options);
      assert.deepEqual([...found].sort(by), expected);
      assert.equal(repaired, 0);
      assert.match(advice, /repair/);
      const before = await store.cursor();
      assert.equal((await verify({ ...options, repair: true })).repaired, 3);
      assert.deepEqual(await differences(source, store), []);
      assert.equal(await store.cursor(), before);
    }));

  it('takes what changed since the cursor for behind and not for wrong', () =>
    withCopy(async ({ source, options }) => {
      for (let n = 0; n < 40; n++) source.edit();
      const { differences: found, behind, advice } = await verify(options);
      assert.deepEqual(found, []);
      assert.ok(behind > 10);
      assert.match(advice, /replicate/);
    }));

  it('goes through edits that are made meanwhile without a false alarm', () =>
    withCopy(async ({ source, server, options }) => {
      let edits = 100;
      server.onRequest = () => {
        if (edits-- > 0) source.edit();
      };
      assert.deepEqual((await verify({ ...options, batchSize: 5 })).differences, []);
    }));

  it('says when a store cannot be read back', () =>
    withCopy(async ({ options }) => {
      const store = callbackStore({ loadCursor: async () => undefined, apply: async () => undefined });
      await assert.rejects(
        verify({ ...options, store }),
        error => error instanceof ReplicationError && error.code === 'store',
      );
    }));
});
