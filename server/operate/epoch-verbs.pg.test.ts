import assert from 'node:assert/strict';
import { Command } from 'commander';
import { logDatabase } from '../../testing/log-database.ts';
import { loadConfig } from '../base/config/index.ts';
import { processContext } from '../context.ts';
import { openDatabase } from '../runtime.ts';
import { examine } from './doctor/examine.ts';
import { registerEpoch } from './epoch-verbs.ts';

async function open() {
  const log = await logDatabase();
  const env = { DATABASE_URL: log.url };
  const run = async (...args: string[]) => {
    let text = '';
    const out = (part: string) => {
      text += part;
    };
    const context = {
      ...processContext(),
      env,
      cwd: import.meta.dirname,
      out,
      loadConfig: (flags: Readonly<Record<string, unknown>>) =>
        loadConfig({ flags, env, cwd: import.meta.dirname }),
    };
    const program = new Command('pulsefeed').exitOverride().configureOutput({ writeOut: out, writeErr: out });
    registerEpoch(program, context);
    await program.parseAsync(['epoch', ...args], { from: 'user' });
    return text;
  };
  return { log, run };
}

describe('pulsefeed epoch', () => {
  it('lists the first epoch, begins another one and lists what was lost', async () => {
    const { log, run } = await open();
    await log.write('update pulsefeed.log_head set last_seq = 41');
    assert.match(await run('list'), /^EPOCH +SINCE +REASON +NUMBERS LOST\n1 +\S+ +first +none\n$/);
    assert.equal(await run(), await run('list'));
    const begun = JSON.parse(await run('new', '--json'));
    assert.equal(begun.epoch, 2);
    assert.equal(begun.lost.from, '42');
    const listed = JSON.parse(await run('list', '--json'));
    assert.deepEqual(listed[1].lost, begun.lost);
    assert.equal(listed[1].reason, 'operator');
    assert.equal((await log.log.head()).head, BigInt(begun.lost.to) + 1n);
    assert.match(await run('new'), /^Epoch 3 has begun\. .*410/);
  });

  it('goes above a number that it is told, and takes nothing else for one', async () => {
    const { log, run } = await open();
    await run('new', '--above', '900000000000000');
    assert.ok((await log.log.head()).head > 900_000_000_000_000n);
    for (const wrong of ['x', '-1', '9223372036854775808']) {
      await assert.rejects(run('new', `--above=${wrong}`), { code: 'EE-700' });
    }
  });

  it('is explained by doctor: before, in a restored database, and after', async () => {
    const { log, run } = await open();
    const config = await loadConfig({ env: { DATABASE_URL: log.url }, cwd: import.meta.dirname });
    const finding = async () => {
      const found = await examine({
        config,
        open: () => openDatabase(config, 'doctor'),
        limits: { watchMs: 1 },
      });
      return found.find(({ check }) => check === 'epoch');
    };
    const before = await finding();
    assert.deepEqual([before?.level, /no number was ever lost/.test(before?.message ?? '')], ['ok', true]);
    await log.write(`
create temporary table kept on commit drop as select * from pulsefeed.log_head;
delete from pulsefeed.log_head;
insert into pulsefeed.log_head select * from kept`);
    // As `migrate` and `feeds apply` do, which may well be run before any server.
    await log.write(
      'update pulsefeed.log_head set rule_version = rule_version, writer = pg_current_xact_id()',
    );
    const restored = await finding();
    assert.equal(restored?.level, 'warn');
    assert.match(`${restored?.message} ${restored?.remedy}`, /restored.*pulsefeed epoch new/s);
    await run('new');
    assert.match((await finding())?.message ?? '', /Epoch 2, since .* answer 410/);
  });
});
