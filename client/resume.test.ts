import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type ReplicateOptions, replicate } from './replicate.ts';
import type { Store } from './store.ts';
import { memoryStore } from './stores/memory.ts';
import { storeFor } from './stores/open-store.ts';
import { Crash, differences, watched } from './testing/copy-check.ts';
import { fastTiming } from './testing/fast-timing.ts';
import { type OddServer, startOddServer } from './testing/odd-server.ts';
import { OddSource } from './testing/odd-source.ts';
import { type SeededRandom, seededRandom } from './testing/seeded-random.ts';

const SEED = Number(process.env.PULSEFEED_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = Number(process.env.PULSEFEED_TORTURE_KILLS ?? 100);
const REAL_KILLS = Number(process.env.PULSEFEED_TORTURE_REAL_KILLS ?? 2);

interface World {
  readonly source: OddSource;
  readonly server: OddServer;
  readonly random: SeededRandom;
}

async function withWorld(seed: number, use: (world: World) => Promise<void>): Promise<void> {
  const random = seededRandom(seed);
  const source = new OddSource(random);
  source.fill(30);
  const switches = {
    lateMs: 2,
    fail: 0.02,
    repeatPage: 0.05,
    omit: 0.05,
    annotations: random() < 0.5,
    pageSize: 20,
  };
  const server = await startOddServer(source, random, switches);
  try {
    await use({ source, server, random });
  } finally {
    await server.close();
  }
}

function optionsFor({ server, random }: World, store: Store): ReplicateOptions {
  return {
    ...{ url: server.url, store, batchSize: 10, windowSize: 40, readAhead: 100, pageSize: 20 },
    ...{ timing: fastTiming(random), retry: { attempts: 20 } },
  };
}

/** Runs to the head without crashes and compares. */
async function endsEqual(world: World, store: Store): Promise<void> {
  world.server.onRequest = () => {};
  await replicate(optionsFor(world, store));
  assert.deepEqual(await differences(world.source, store), []);
}

describe(`resuming (PULSEFEED_SEED=${SEED})`, () => {
  it(`ends equal after ${KILLS} kills at any moment, without a delete of what the source has`, async () => {
    for (let kills = 0, seed = SEED; kills < KILLS; seed++) {
      await withWorld(seed, async world => {
        const { source, server, random } = world;
        const inner = memoryStore();
        for (let life = 0; life < 10; life++, kills++) {
          // Killed at a request (the signal) or at a write, before it or between it and its answer.
          const killing = new AbortController();
          let requests = Math.floor(random() * 30);
          let writes = Math.floor(random() * 4);
          server.onRequest = () => {
            if (random() < 0.5) source.edit();
            if (requests-- === 0) killing.abort(new Error('killed'));
          };
          const store = watched(inner, source, () =>
            writes-- > 0 ? 'no' : random() < 0.5 ? 'before' : 'after',
          );
          const options = { ...optionsFor(world, store), signal: killing.signal };
          await replicate(options).catch(error => assert.ok(error instanceof Crash, error));
        }
        await endsEqual(world, watched(inner, source));
      });
    }
  }).timeout(60_000 + KILLS * 1000);

  for (const file of ['copy.ndjson', 'copy.sqlite']) {
    it(`ends equal in ${file} after ${REAL_KILLS} kill -9 of the process`, async () => {
      const folder = await temporaryFolder('kill');
      await withWorld(SEED, async world => {
        const { source, server, random } = world;
        const path = join(folder.path, file);
        server.switches.lateMs = 10;
        for (let life = 0; life < REAL_KILLS; life++) {
          for (let n = 0; n < 100; n++) source.edit();
          await killedAfter(world, path, 3 + Math.floor(random() * 25));
        }
        server.switches.lateMs = 0;
        const store = storeFor(path);
        await endsEqual(world, watched(store, source));
        await store.close();
        const again = storeFor(path);
        await endsEqual(world, again);
        await again.close();
      });
      await folder.remove();
    }).timeout(30_000 + REAL_KILLS * 10_000);
  }
});

/** Starts a client process and kills it at the given request. */
async function killedAfter({ server, source }: World, path: string, requests: number): Promise<void> {
  let left = requests;
  let child: ChildProcess | undefined;
  server.onRequest = () => {
    source.edit();
    if (left-- === 0) child?.kill('SIGKILL');
  };
  const script = fileURLToPath(new URL('./testing/copy-process.ts', import.meta.url));
  child = spawn(process.execPath, ['--import', 'tsx', script, server.url, path], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await new Promise(resolve => child?.once('exit', resolve));
}
