import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { atTestEnd } from '../../testing/cleanup.ts';
import { type GateSession, openSession } from '../../testing/gates.ts';
import { testDatabase } from '../../testing/postgres.ts';
import { loadConfig } from '../base/config/index.ts';
import type { VerbContext } from '../context.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../runtime.ts';
import { registerCapture, registerOperate } from './index.ts';
import { jsonLines } from './progress.ts';

/** Runs a verb as the program does; `code` is the exit code. */
type Run = (line: string) => Promise<{ code: number; text: string }>;

interface Shell {
  readonly run: Run;
  readonly provider: GateSession;
  readonly cwd: string;
}

async function openShell(ddl: string): Promise<Shell> {
  const { url, drop } = await testDatabase();
  const provider = await openSession(url, 'provider');
  await provider.run(ddl);
  const cwd = await mkdtemp(join(tmpdir(), 'pulsefeed verbs '));
  atTestEnd(async () => {
    await provider.close();
    await drop();
    await rm(cwd, { recursive: true });
  });
  return { run: line => runVerb(line, url, cwd), provider, cwd };
}

async function runVerb(line: string, url: string, cwd: string): Promise<{ code: number; text: string }> {
  let text = '';
  const env = { DATABASE_URL: url };
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
  const program = new Command('pulsefeed').exitOverride().configureOutput({
    writeOut: context.out,
    writeErr: context.out,
  });
  registerCapture(program, context);
  registerOperate(program, context);
  for (const verb of program.commands) {
    verb.exitOverride().configureOutput({ writeOut: context.out, writeErr: context.out });
  }
  try {
    await program.parseAsync(line.split(' '), { from: 'user' });
    const code = process.exitCode === 1 ? 1 : 0;
    return { code, text };
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, text };
    return { code: 1, text: `${text}${error}` };
  } finally {
    process.exitCode = undefined;
  }
}

const ddl = `create table property ("ListingKey" text primary key, "ModificationTimestamp" timestamptz);
  insert into property values ('K1', now()), ('K2', now())`;

describe('the verbs on one database', () => {
  it('lead from an empty folder to captured tables and a filled outbox', async () => {
    const { run, provider } = await openShell(ddl);
    const init = await run('init');
    assert.equal(init.code, 0, init.text);
    assert.match(init.text, /Property: table public\.property, key ListingKey/);
    assert.equal((await run('init')).code, 1);
    assert.equal((await run('capture status')).code, 1);
    assert.match((await run('migrate')).text, /Ran 000001_log.*published/s);
    assert.match((await run('migrate')).text, /was up to date/);
    assert.equal((await run('doctor')).code, 1);
    const status = await run('capture status --json');
    assert.equal(status.code, 1);
    assert.equal(JSON.parse(status.text).tables[0].state, 'missing');
    assert.match((await run('capture install --sql')).text, /create or replace trigger/);
    assert.match((await run('capture install')).text, /Property\s+public\.property\s+installed/);
    assert.equal((await run('capture status')).code, 0);
    const dry = await run('reconcile --dry-run --json');
    assert.equal(JSON.parse(dry.text).resources[0].fresh, 2);
    assert.match((await run('reconcile --resource Property')).text, /2 records were put into the outbox/);
    const { rows } = await provider.run(`select from pulsefeed.record_change`);
    assert.equal(rows.length, 2);
  });

  it('end with 1 when the doctor finds something that failed, and print its findings as data', async () => {
    const { run } = await openShell(ddl);
    await run('init');
    const { code, text } = await run('doctor --json');
    assert.equal(code, 1);
    const failed = JSON.parse(text).filter(({ level }: { level: string }) => level === 'fail');
    assert.deepEqual(failed[0]?.check, 'migrations');
    assert.match((await run('doctor')).text, /fail {2}migrations.*\n {6}-> Run `pulsefeed migrate`/);
  });

  it('print the settings without secrets', async () => {
    const { run } = await openShell(ddl);
    const { code, text } = await run('config --port 1234');
    assert.equal(code, 0);
    assert.match(text, /port\s+1234\s+flag/);
    assert.match(text, /databaseUrl\s+"set"\s+environment/);
    assert.doesNotMatch(text, /postgres:\/\//);
    assert.ok(Array.isArray(JSON.parse((await run('config --json')).text).settings));
  });

  it('write to the file that --config names, and nothing on a dry run', async () => {
    const { run } = await openShell(ddl);
    assert.match((await run('init --dry-run')).text, /"name": "Property"/);
    assert.match((await run('init --config other.json --json')).text, /other\.json/);
    assert.match((await run('config --config other.json')).text, /Property\s+public\.property/);
    assert.match((await run('config')).text, /file: none/);
  });

  it('refuse what they do not know with 2, and explain themselves with --help', async () => {
    const { run } = await openShell('select 1');
    for (const line of [
      'reconcile --margin often',
      'reconcile --since yesterday-ish',
      'capture install --nonsense',
    ]) {
      assert.equal((await run(line)).code, 2, line);
    }
    for (const verb of ['init', 'doctor', 'migrate', 'config', 'reconcile', 'capture', 'capture install']) {
      const { code, text } = await run(`${verb} --help`);
      assert.equal(code, 0, verb);
      assert.match(text, /Usage:/, verb);
    }
    assert.match((await run('init')).text, /No table looks like a RESO resource/);
  });
});

describe('progress without a terminal', () => {
  it('is a JSON line every five seconds and no more', () => {
    let clock = 0;
    const lines: string[] = [];
    const progress = jsonLines('reconcile', { write: text => lines.push(text) }, () => clock);
    for (; clock <= 12_000; clock += 500) progress.tell('Property, live rows', clock);
    assert.deepEqual(
      lines.map(line => JSON.parse(line)),
      [5_000, 10_000].map(count => ({ verb: 'reconcile', label: 'Property, live rows', count })),
    );
  });
});
