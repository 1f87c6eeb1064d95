import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../base/config/index.ts';
import { captureStatus, installCapture, reconcile, removeCapture } from '../capture/index.ts';
import { migrateAndPublish, openDatabase, openRuntime, type Runtime } from '../runtime.ts';
import { examine } from './doctor/examine.ts';
import { guessFromCatalog } from './init/init.ts';

describe('the embedded database', () => {
  const resources = [{ name: 'Property', table: 'public.property', key: 'ListingKey', modified: 'm' }];
  let dataDir: string;
  let runtime: Runtime;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'pulsefeed-embedded-'));
    const config = { ...(await loadConfig({ env: {}, cwd: dataDir, flags: { dataDir } })), resources };
    const db = await openDatabase(config, 'test');
    await db.script(`create table property ("ListingKey" text primary key, m timestamptz)`);
    await migrateAndPublish(config, db);
    runtime = await openRuntime(config, db);
  });

  after(async () => {
    await runtime.close();
    await rm(dataDir, { recursive: true });
  });

  async function head(): Promise<bigint> {
    const sequencer = runtime.sequencer();
    for (let step = 0; step < 100 && (await sequencer.step()).kind !== 'idle'; step += 1);
    await sequencer.close();
    return (await runtime.log.head()).head;
  }

  it('has its tables captured like any other, and reconciled', async () => {
    const { db, tables, rules } = runtime;
    assert.deepEqual(
      (await installCapture(db, tables)).map(({ outcome }) => outcome),
      ['installed'],
    );
    assert.equal((await captureStatus(db, tables))[0]?.state, 'installed');
    await db.script(
      `insert into property values ('K1', now()); update property set m = now(); truncate property`,
    );
    await db.script(`insert into property values ('K2', now())`);
    assert.equal(await head(), 1n);
    await removeCapture(db, tables);
    await db.script(
      `insert into property values ('K3', now()); delete from property where "ListingKey" = 'K2'`,
    );
    const { sources } = await rules.current();
    const [result] = await reconcile({ db, tables, sources });
    assert.deepEqual([result?.fresh, result?.gone], [1, 1]);
    assert.equal(await head(), 3n);
  });

  it('is guessed from', async () => {
    const { resources: guessed } = await guessFromCatalog(runtime.db);
    assert.deepEqual(
      guessed.map(({ name, key }) => [name, key]),
      [['Property', 'ListingKey']],
    );
  });

  it('is told from a real one by the doctor, and cannot be examined while another process has it', async () => {
    await installCapture(runtime.db, runtime.tables);
    const { config, db } = runtime;
    const open = { ...db, close: async () => undefined };
    const findings = await examine({ config, open: async () => open, limits: { watchMs: 10 } });
    assert.deepEqual(
      findings.filter(({ level }) => level !== 'ok').map(({ check }) => check),
      ['engine'],
    );
    const second = await examine({ config, open: () => openDatabase(config, 'second') });
    assert.match(second[0]?.message ?? '', new RegExp(`in use by process ${process.pid}`));
  });
});
