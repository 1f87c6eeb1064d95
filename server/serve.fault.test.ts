import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atTestEnd } from '../testing/cleanup.ts';
import { compiled } from '../testing/compiled.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';

const kills = Number(process.env.PULSEFEED_TORTURE ?? 3);
const ingestToken = 'ingest-token';

/** A server process that can be killed. */
interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

describe('a server that is killed with SIGKILL', function () {
  this.timeout(60_000 + kills * 20_000);
  let program = '';
  let config = '';

  before(async () => {
    program = await compiled(new URL('main.ts', import.meta.url));
    const folder = await temporaryFolder('serve');
    config = join(folder.path, 'pulsefeed.config.json');
    await writeFile(config, JSON.stringify({ resources: [{ name: 'Note' }] }));
  });

  /** Starts `serve` and resolves when it answers; it is killed when the test ends. */
  async function start(env: Record<string, string>): Promise<ServerProcess> {
    const child = spawn(process.execPath, [program, 'serve', '--config', config, '--port', '0'], {
      env: { ...process.env, ...env, PULSEFEED_INGEST_TOKEN: ingestToken, PULSEFEED_LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (data: Buffer) => {
      output += data.toString();
    });
    child.stderr?.on('data', (data: Buffer) => {
      output += data.toString();
    });
    atTestEnd(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const url = await until(
      'the server to listen',
      () => {
        if (child.exitCode !== null) throw new Error(`the server ended:\n${output}`);
        return /"url":"(http:[^"]+)"/.exec(output)?.[1];
      },
      { withinMs: 30_000 },
    );
    return { child, url };
  }

  async function ingest(url: string, ids: readonly number[]): Promise<boolean> {
    try {
      const response = await fetch(`${url}/ingest`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ingestToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          source: 'crm',
          changes: ids.map(id => ({ id: String(id), resource: 'Note', key: `K${id}`, op: 'upsert' })),
        }),
      });
      await response.arrayBuffer();
      return response.status === 200;
    } catch {
      // The server was killed while it answered: whether it took the changes is not known.
      return false;
    }
  }

  async function readAll(url: string): Promise<{ sequence: number; key: string }[]> {
    const found: { sequence: number; key: string }[] = [];
    let next: string | undefined = `${url}/EntityEvent?$filter=EntityEventSequence ge 0&$top=100000`;
    while (next !== undefined) {
      const page = (await (await fetch(next)).json()) as {
        value: { EntityEventSequence: number; ResourceRecordKey: string }[];
        '@odata.nextLink'?: string;
      };
      for (const row of page.value)
        found.push({ sequence: row.EntityEventSequence, key: row.ResourceRecordKey });
      next = page['@odata.nextLink'];
    }
    return found;
  }

  /** Ingests, kills, starts again; at the end everything that was acknowledged must be in the log, once and dense. */
  async function survives(env: Record<string, string>): Promise<void> {
    const random = seededRandom();
    const acknowledged = new Set<number>();
    const unsure = new Set<number>();
    let id = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const { child, url } = await start(env);
      // 1. Changes go in one after the other. 2. In the middle of one of them the process is killed.
      const batches = 1 + random.below(12);
      for (let batch = 0; batch < batches; batch += 1) {
        const ids = Array.from({ length: 1 + random.below(20) }, () => (id += 1));
        for (const one of ids) unsure.add(one);
        const answer = ingest(url, ids);
        if (batch === batches - 1) child.kill('SIGKILL');
        if (await answer) for (const one of ids) acknowledged.add(one);
      }
      if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
    }
    const { url } = await start(env);
    const found = await until(
      `all acknowledged changes to be served; ${random.seed}`,
      async () => {
        const rows = await readAll(url);
        const keys = new Set(rows.map(({ key }) => key));
        return [...acknowledged].every(one => keys.has(`K${one}`)) ? rows : undefined;
      },
      { withinMs: 20_000 },
    );
    assert.deepEqual(
      found.map(({ sequence }) => sequence),
      found.map((_, index) => index + 1),
      'the numbers are dense',
    );
    assert.equal(new Set(found.map(({ key }) => key)).size, found.length, 'nothing is doubled');
    assert.ok(found.every(({ key }) => unsure.has(Number(key.slice(1)))));
  }

  it('loses nothing that it acknowledged, on the embedded database', async () => {
    const folder = await temporaryFolder('serve-data');
    await survives({ PULSEFEED_DATA_DIR: folder.path, DATABASE_URL: '' });
  });

  it('loses nothing that it acknowledged, on PostgreSQL', async () => {
    const database = await testDatabase();
    atTestEnd(() => database.drop());
    const migrate = spawn(process.execPath, [program, 'migrate', '--config', config], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: 'inherit',
    });
    assert.deepEqual(await once(migrate, 'exit'), [0, null]);
    await survives({ DATABASE_URL: database.url });
  });

  it('keeps a second process out of its data directory, and the second changes nothing', async () => {
    const folder = await temporaryFolder('serve-lock');
    const env = { PULSEFEED_DATA_DIR: folder.path, DATABASE_URL: '' };
    const first = await start(env);
    const second = spawn(process.execPath, [program, 'serve', '--config', config, '--port', '0'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    second.stderr?.on('data', (data: Buffer) => {
      said += data.toString();
    });
    const [code] = (await once(second, 'exit')) as [number | null];
    assert.equal(code, 1);
    assert.match(said, new RegExp(`EE-701.*in use by process ${first.child.pid}`));
    assert.equal(await ingest(first.url, [1]), true);
  });
});
