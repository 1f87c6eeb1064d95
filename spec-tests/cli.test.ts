import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { registerConformance } from './cli.ts';
import { type BreakableServer, startBreakableServer } from './testing/breakable-server.ts';
import type { Switch } from './testing/switches.ts';

let folder: string;

async function run(...flags: string[]): Promise<{ code: number | undefined; out: string; err: string }> {
  let code: number | undefined;
  const out: string[] = [];
  const err: string[] = [];
  const program = new Command().exitOverride();
  registerConformance(program, {
    stdout: { isTty: false, write: text => out.push(text) },
    stderr: { isTty: false, write: text => err.push(text) },
    exit: given => {
      code = given;
    },
  });
  await program.parseAsync(['conformance', '--pace-ms', '0', ...flags], { from: 'user' });
  return { code, out: out.join(''), err: err.join('') };
}

async function against<T>(broken: Switch[], use: (server: BreakableServer) => Promise<T>): Promise<T> {
  const server = await startBreakableServer({ broken });
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

describe('pulsefeed conformance', () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('ends with 0 for a conformant server', async () => {
    const { code, out } = await against([], server => run('--url', server.url, '--token', server.token));
    assert.equal(code, 0);
    assert.match(out, /\nconformant\n$/);
  });

  it('ends with 1 for a broken MUST, and prints it with what to do', async () => {
    const { code, out } = await against(['unsorted'], server =>
      run('--url', server.url, '--token', server.token),
    );
    assert.equal(code, 1);
    assert.match(out, /FAIL {2}rcp-027\/ascending-without-orderby {2}\(MUST\)\n.*\n {6}to do: /);
  });

  it('ends with 0 for a warning, and with 1 when --strict', async () => {
    await against(['unknown-option-ignored'], async server => {
      const flags = ['--url', server.url, '--token', server.token, '--only', 'odata-4.01'];
      assert.equal((await run(...flags)).code, 0);
      assert.equal((await run(...flags, '--strict')).code, 1);
    });
  });

  it('ends with 2 when the server is not there', async () => {
    assert.equal((await run('--url', 'http://no-such-host.invalid')).code, 2);
  });

  it('ends with 2 and names each fault of its options', async () => {
    const { code, err } = await run(
      '--url',
      'ftp://x',
      '--mode',
      'guess',
      '--timeout-ms',
      '1',
      '--client-id',
      'a',
    );
    assert.equal(code, 2);
    for (const fault of [/mode/, /timeoutMs/, /http or https/, /belong together/]) assert.match(err, fault);
    assert.equal((await run()).code, 2);
  });

  it('runs only the rules named', async () => {
    const { out } = await against([], server =>
      run(
        '--url',
        server.url,
        '--token',
        server.token,
        '--json',
        '--only',
        'rcp-027/init-ge-0',
        'core-2.1.0',
      ),
    );
    const ids = (JSON.parse(out) as { rules: { id: string }[] }).rules.map(rule => rule.id);
    assert.ok(ids.includes('rcp-027/init-ge-0'));
    assert.ok(ids.every(id => id === 'rcp-027/init-ge-0' || id.startsWith('core-2.1.0/')));
  });

  it('takes options from a file, which flags overrule', async () => {
    await against([], async server => {
      const file = join(folder, 'suite.json');
      const canary = { waitMs: 1000, pollMs: 5 };
      writeFileSync(
        file,
        JSON.stringify({ url: 'http://no-such-host.invalid', token: server.token, mode: 'full', canary }),
      );
      const { code, out } = await run(
        '--suite-config',
        file,
        '--url',
        server.url,
        '--resource',
        'Property',
        '--json',
      );
      assert.equal(code, 0);
      const report = JSON.parse(out) as { mode: string; rules: { id: string; outcome: string }[] };
      assert.equal(report.mode, 'full');
      assert.equal(report.rules.find(rule => rule.id === 'rcp-027/change-has-event')?.outcome, 'pass');
    });
  });

  it('skips the writing rules when no resource is named', async () => {
    const { out } = await against([], server =>
      run(
        '--url',
        server.url,
        '--token',
        server.token,
        '--mode',
        'full',
        '--json',
        '--only',
        'rcp-027/change-has-event',
      ),
    );
    const [rule] = (JSON.parse(out) as { rules: { outcome: string; reason: string }[] }).rules;
    assert.equal(rule?.outcome, 'skip');
    assert.match(rule?.reason ?? '', /--resource/);
  });

  it('ends with 2 when it was asked to write and no resource is named', async () => {
    const { code, out } = await against([], server =>
      run('--url', server.url, '--token', server.token, '--mode', 'full'),
    );
    assert.equal(code, 2);
    assert.match(out, /problem: nothing of mode full could be exercised: no resource was named/);
  });

  it('skips the rules of Core 2.1.0 for a server that claims 2.0.0', async () => {
    const { out } = await against([], server =>
      run(
        '--url',
        server.url,
        '--token',
        server.token,
        '--core',
        '2.0.0',
        '--json',
        '--only',
        'core-2.1.0',
        'core-2.0.0/top',
      ),
    );
    const report = JSON.parse(out) as { counts: { pass: number; skip: number }; rules: unknown[] };
    assert.equal(report.counts.pass, 1);
    assert.equal(report.counts.skip, report.rules.length - 1);
  });

  it('writes the three report files', async () => {
    const files = ['json', 'junit', 'html'].map(kind => join(folder, `report.${kind}`));
    const [json = '', junit = '', html = ''] = files;
    const reports = ['--report-json', json, '--report-junit', junit, '--report-html', html];
    await against([], server =>
      run('--url', server.url, '--token', server.token, ...reports, '--only', 'rcp-027'),
    );
    assert.equal((JSON.parse(readFileSync(json, 'utf8')) as { conformant: string }).conformant, 'yes');
    assert.match(readFileSync(junit, 'utf8'), /^<\?xml/);
    assert.match(readFileSync(html, 'utf8'), /^<!doctype html>/);
  });

  it('says when a file cannot be read or is not JSON', async () => {
    assert.equal((await run('--suite-config', join(folder, 'none.json'))).code, 2);
    const file = join(folder, 'bad.json');
    writeFileSync(file, '{');
    assert.match((await run('--suite-config', file)).err, /is not JSON/);
  });
});
