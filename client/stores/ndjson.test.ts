import assert from 'node:assert/strict';
import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import type { Batch } from '../store.ts';
import { ndjsonStore } from './ndjson.ts';

const NONE = { resources: new Map() };

function batch(number: number): Batch {
  const upserts = [1, 2, 3].map(n => ({
    resource: 'R',
    key: `${n}`,
    record: { K: `${n}`, V: `${number} 東京` },
  }));
  return {
    upserts,
    deletes: [{ resource: 'R', key: `${number + 10}` }],
    generation: 1,
    cursor: () => `${number}`,
  };
}

async function withFile(use: (path: string) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder('ndjson');
  await use(join(folder.path, 'copy.ndjson'));
  await folder.remove();
}

async function stateOf(path: string): Promise<{ cursor: string | undefined; values: string[] }> {
  const store = ndjsonStore(path);
  await store.open(NONE);
  const values: string[] = [];
  for await (const { record } of store.records('R') ?? []) values.push(String(record.V));
  const cursor = await store.cursor();
  await store.close();
  return { cursor, values };
}

describe('an NDJSON copy', () => {
  it('shows one whole batch, wherever the file was cut', () =>
    withFile(async path => {
      const store = ndjsonStore(path);
      await store.open(NONE);
      await store.apply(batch(1));
      const first = (await readFile(path)).length;
      await store.apply(batch(2));
      const bytes = await readFile(path);
      await store.close();
      for (let length = first; length <= bytes.length; length += length < bytes.length - 9 ? 9 : 1) {
        await writeFile(path, bytes);
        await truncate(path, length);
        const number = length === bytes.length ? 2 : 1;
        assert.deepEqual(
          await stateOf(path),
          { cursor: `${number}`, values: Array(3).fill(`${number} 東京`) },
          `cut at ${length}`,
        );
      }
    }));

  it('drops a batch of which a byte is wrong, as after a power cut that wrote its blocks out of order', () =>
    withFile(async path => {
      const store = ndjsonStore(path);
      await store.open(NONE);
      await store.apply(batch(1));
      const first = (await readFile(path)).length;
      await store.apply(batch(2));
      const bytes = await readFile(path);
      await store.close();
      for (let at = first; at < bytes.length - 1; at += 7) {
        const broken = Buffer.from(bytes);
        broken[at] = (broken[at] ?? 0) ^ 1;
        await writeFile(path, broken);
        const { cursor, values } = await stateOf(path);
        assert.ok(
          cursor === '1' && values.every(value => value === '1 東京'),
          `byte ${at}: ${cursor} ${values}`,
        );
      }
    }));

  it('is one line per record and one cursor after closing', () =>
    withFile(async path => {
      const store = ndjsonStore(path);
      await store.open(NONE);
      for (let n = 1; n < 5; n++) await store.apply(batch(n));
      await store.close();
      const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
      assert.equal(lines.length, 4);
      assert.deepEqual(JSON.parse(lines[0] ?? ''), {
        '@resource': 'R',
        '@key': '1',
        '@generation': 1,
        record: { K: '1', V: '4 東京' },
      });
      assert.equal((await stateOf(path)).cursor, '4');
    }));

  it('does not grow for ever while it is open', () =>
    withFile(async path => {
      const store = ndjsonStore(path, { compactAfter: 20 });
      await store.open(NONE);
      for (let n = 1; n <= 100; n++) await store.apply(batch(n));
      const lines = (await readFile(path, 'utf8')).trimEnd().split('\n').length;
      assert.ok(lines < 40, `${lines} lines`);
      await store.close();
      assert.deepEqual(await stateOf(path), { cursor: '100', values: Array(3).fill('100 東京') });
    }));

  it("does not empty somebody else's file", () =>
    withFile(async path => {
      await writeFile(path, 'my notes\n');
      await assert.rejects(ndjsonStore(path).open(NONE), /not a copy/);
      assert.equal(await readFile(path, 'utf8'), 'my notes\n');
    }));

  it('refuses a file that a living process writes to, and takes over from a dead one', () =>
    withFile(async path => {
      await appendFile(path, '');
      const { hostname } = await import('node:os');
      await writeFile(`${path}.lock`, JSON.stringify({ pid: process.ppid, host: hostname() }));
      await assert.rejects(ndjsonStore(path).open(NONE), /is writing to/);
      await writeFile(`${path}.lock`, JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }));
      assert.deepEqual(await stateOf(path), { cursor: undefined, values: [] });
    }));
});
