import assert from 'node:assert/strict';
import { join } from 'node:path';
import { s3Emulator } from '../../../testing/s3-emulator.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { type ArchiveStore, openStore } from './store.ts';

const stores: Readonly<Record<string, () => Promise<ArchiveStore>>> = {
  'a folder': async () => openStore(join((await temporaryFolder('store')).path, 'made/when/needed')),
  'an S3-compatible store': async () => openStore(await s3Emulator()),
};

describe('an archive in', () => {
  for (const [name, open] of Object.entries(stores)) {
    it(`${name} gives back the bytes it was given, lists all names and knows what is missing`, async () => {
      const store = await open();
      assert.deepEqual(await store.list(), []);
      assert.equal(await store.get('a.gz'), undefined);
      assert.equal(await store.size('a.gz'), undefined);
      const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 31) & 255));
      for (const file of ['a.gz', 'b.gz', 'c.gz', 'd.gz', 'e.gz']) await store.put(file, bytes);
      await store.put('b.gz', bytes.subarray(0, 10));
      assert.deepEqual((await store.list()).sort(), ['a.gz', 'b.gz', 'c.gz', 'd.gz', 'e.gz']);
      assert.deepEqual(Buffer.from((await store.get('a.gz')) ?? []), bytes);
      assert.equal(await store.size('b.gz'), 10);
    });
  }

  it('an address without a bucket is refused before anything is asked of it', () => {
    assert.throws(() => openStore('s3:///prefix'), { code: 'EE-700' });
    assert.throws(() => openStore('s3:prefix'), { code: 'EE-700' });
  });
});
