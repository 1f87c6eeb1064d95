import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { atTestEnd } from '../../testing/cleanup.ts';
import { openSession } from '../../testing/gates.ts';
import { testDatabase } from '../../testing/postgres.ts';
import { buildSimulationDatabase, resources } from '../../testing/simulated-provider.ts';
import { loadConfig } from '../base/config/index.ts';
import type { VerbContext } from '../context.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../runtime.ts';
import { registerConsumer } from './access-verbs.ts';
import { registerFeeds } from './feeds-verbs.ts';

const idx = { IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } } };
const wider = { ...idx, Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey' }, IDX: { Property: true } };

/** A folder with a configuration, and a way to run verbs in it. */
async function openShell() {
  const { url, drop } = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
  const cwd = await mkdtemp(join(tmpdir(), 'pulsefeed access '));
  const provider = await openSession(url, 'provider');
  atTestEnd(async () => {
    await provider.close();
    await drop();
    await rm(cwd, { recursive: true });
  });
  const env = { DATABASE_URL: url };
  const configure = (feeds: object) =>
    writeFile(join(cwd, 'pulsefeed.config.json'), JSON.stringify({ resources, feeds }));
  const run = async (...args: string[]): Promise<string> => {
    let text = '';
    const context: VerbContext = {
      env,
      cwd,
      out: part => {
        text += part;
      },
      loadConfig: flags => loadConfig({ flags, env, cwd }),
      openDatabase,
      openRuntime,
      migrateAndPublish,
    };
    const program = new Command('pulsefeed').exitOverride();
    registerConsumer(program, context);
    registerFeeds(program, context);
    await program.parseAsync(args, { from: 'user' });
    return text;
  };
  const json = async (...args: string[]) =>
    JSON.parse(await run(...args, '--json')) as Record<string, unknown>;
  return { provider, configure, run, json };
}

describe('the verbs for feeds and consumers', () => {
  it('plan without changing anything, apply with what was planned, and say where they stand', async () => {
    const { provider, configure, run, json } = await openShell();
    await provider.run(`insert into property values ('P0', 'O0', 1, 1), ('P1', 'O1', 0, 1)`);
    await configure(idx);
    assert.equal((await json('feeds', 'apply')).changed, true);
    const plan = JSON.parse(await run('feeds', 'plan', '--json')) as Record<string, unknown>[];
    assert.deepEqual(
      plan.filter(({ resource }) => resource === 'Property'),
      [{ feed: 'IDX', resource: 'Property', now: 1, appear: 0, vanish: 0 }],
    );
    await configure(wider);
    const next = JSON.parse(await run('feeds', 'plan', '--json')) as Record<string, unknown>[];
    assert.deepEqual(
      next.find(({ resource, feed }) => resource === 'Property' && feed === 'IDX'),
      { feed: 'IDX', resource: 'Property', now: 1, appear: 1, vanish: 0 },
    );
    assert.equal((await json('feeds', 'status')).version, 2);
    assert.equal((await json('feeds', 'apply')).changed, true);
    assert.equal((await json('feeds', 'apply')).changed, false);
    assert.deepEqual(await json('feeds', 'status'), { version: 3, feedsConfigured: true, walk: null });
    assert.match(await run('feeds', 'status'), /^Version 3; feeds are configured; nothing is walking\.$/m);
  });

  it('finish an apply that was killed before they begin another', async () => {
    const { provider, configure, json } = await openShell();
    await provider.run(`insert into property values ('P0', 'O0', 1, 1)`);
    await configure(idx);
    await json('feeds', 'apply');
    await provider.run(`insert into pulsefeed.visibility_walk (kind) values ('rules')`);
    await configure(wider);
    assert.equal((await json('feeds', 'apply')).changed, true);
    assert.equal((await json('feeds', 'status')).walk, null);
  });

  it('add, grant, revoke, set, rotate, disable and enable a consumer', async () => {
    const { configure, run, json } = await openShell();
    await configure(wider);
    await json('feeds', 'apply');
    const added = await json('consumer', 'add', 'Acme', '--feeds', 'IDX', '--attr', 'OfficeKey=O0,O1');
    assert.match(String(added.token), /^pft_/);
    assert.match(String(added.secret), /^pfs_/);
    assert.deepEqual((await json('consumer', 'show', 'Acme')).attributes, { OfficeKey: ['O0', 'O1'] });
    assert.deepEqual((await json('consumer', 'grant', 'Acme', '--feeds', 'Own')).grants, ['IDX', 'Own']);
    assert.deepEqual((await json('consumer', 'revoke', 'Acme', '--feeds', 'IDX')).grants, ['Own']);
    const set = await json('consumer', 'set', 'Acme', '--attr', 'OfficeKey=O2');
    assert.deepEqual(set.attributes, { OfficeKey: ['O2'] });
    assert.notEqual((await json('consumer', 'rotate', 'Acme')).token, added.token);
    assert.equal((await json('consumer', 'disable', 'Acme')).disabled, true);
    assert.match(await run('consumer', 'list'), /Acme \(disabled\)/);
    assert.equal((await json('consumer', 'enable', 'Acme')).disabled, false);
    await assert.rejects(run('consumer', 'show', 'Nobody'), /There is no consumer Nobody/);
    await assert.rejects(run('consumer', 'grant', 'Acme', '--feeds', 'Nope'), /There is no feed Nope/);
  });
});
