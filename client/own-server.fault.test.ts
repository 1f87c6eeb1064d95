import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connect } from '../server/base/db/index.ts';
import { createSample, demoResources, demoSeed, LiveEdits } from '../server/demo/index.ts';
import { processTiming } from '../server/demo/live-edits.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { compiled } from '../testing/compiled.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';
import { ndjsonStore, replicate, verify } from './index.ts';

const kills = Number(process.env.PULSEFEED_TORTURE_REPLICATION_KILLS ?? 3);
const listings = 60;

describe('a copy of our own server', function () {
  this.timeout(90_000 + kills * 20_000);

  it('ends equal to its source, whatever is killed while records are edited', async () => {
    const random = seededRandom();
    const program = await compiled(new URL('../server/main.ts', import.meta.url));
    const folder = await temporaryFolder('own-server');
    const config = join(folder.path, 'pulsefeed.config.json');
    await writeFile(config, JSON.stringify({ resources: demoResources }));
    const database = await testDatabase();
    atTestEnd(() => database.drop());
    const db = await connect({ databaseUrl: database.url, dataDir: '', poolSize: 2 });
    atTestEnd(() => db.close());
    await createSample(db, { seed: demoSeed, listings });
    const env = { ...process.env, DATABASE_URL: database.url, PULSEFEED_CONFIG: config };
    for (const verb of [['migrate'], ['capture', 'install'], ['seed']]) {
      const child = spawn(process.execPath, [program, ...verb], { env, stdio: 'ignore' });
      assert.deepEqual(await once(child, 'exit'), [0, null], verb.join(' '));
    }
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    let server = await serve(program, port, env);
    const edits = new LiveEdits({ db, timing: processTiming, everyMs: 50 });
    edits.start();
    atTestEnd(() => edits.stop());
    const path = join(folder.path, 'copy.ndjson');
    const retry = { attempts: 200, baseMs: 20, capMs: 200 };

    for (let kill = 0; kill < kills; kill += 1) {
      // The client ends at some page, nothing of it saved; or the server dies under it, and another takes its port.
      const store = ndjsonStore(path);
      const stop = new AbortController();
      const run = replicate({
        url,
        store,
        signal: stop.signal,
        pageSize: 20,
        retry,
        follow: true,
        pollMs: 50,
      });
      await edits.round();
      if (random.below(2) === 0) {
        server.kill('SIGKILL');
        await once(server, 'exit');
        server = await serve(program, port, env);
      }
      await new Promise(resolve => setTimeout(resolve, random.below(400)));
      stop.abort();
      await run;
      await store.close();
    }
    await edits.stop();
    await until('every edit to be numbered', async () => {
      const rows = await db.query({ text: 'select from pulsefeed.record_change limit 1' });
      return rows.length === 0 || undefined;
    });
    const store = ndjsonStore(path);
    await replicate({ url, store, retry });
    const found = await verify({ url, store });
    await store.close();
    assert.deepEqual(found.differences, [], random.seed);
    const [count] = await db.query<{ records: number }>({
      text: `
select (select count(*) from office) + (select count(*) from member) + (select count(*) from property)
  + (select count(*) from media) + (select count(*) from open_house) as records`,
    });
    assert.equal(BigInt(found.checked), BigInt(count?.records ?? 0));
  });
});

/** Starts the server and resolves when it is ready; it is killed when the test ends. */
async function serve(program: string, port: number, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, 'serve', '--port', String(port), '--log-level', 'error'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  atTestEnd(async () => {
    if (child.signalCode !== null || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until(
    'the server to be ready',
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      return answer?.status === 200 || undefined;
    },
    { withinMs: 30_000 },
  );
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
