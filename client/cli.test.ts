import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type ReplicateIo, registerReplicate } from './cli.ts';
import { fastTiming } from './testing/fast-timing.ts';
import { type OddServer, startOddServer } from './testing/odd-server.ts';
import { OddSource } from './testing/odd-source.ts';
import { seededRandom } from './testing/seeded-random.ts';

interface Outcome {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], isTerminal = false): Promise<Outcome> {
  let [out, err] = ['', ''];
  let code: number | undefined;
  const io: ReplicateIo = {
    out: line => {
      out += `${line}\n`;
    },
    err: text => {
      err += text;
    },
    isTerminal,
    exit: value => {
      code = value;
    },
    signal: new AbortController().signal,
    timing: fastTiming(seededRandom(5)),
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: io.err, writeOut: io.err });
  registerReplicate(program, () => io);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: io.err });
  await program.parseAsync(['replicate', ...args], { from: 'user' }).catch(error => {
    code = error.exitCode;
  });
  return { code, out, err };
}

async function withServer(
  use: (server: OddServer, source: OddSource, path: string) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder('cli');
  const random = seededRandom(4);
  const source = new OddSource(random);
  source.fill(5);
  const server = await startOddServer(source, random, { annotations: true });
  try {
    await use(server, source, join(folder.path, 'copy.ndjson'));
  } finally {
    await server.close();
    await folder.remove();
  }
}

describe('pulsefeed replicate', () => {
  it('copies, resumes, verifies and says what it did', () =>
    withServer(async (server, source, path) => {
      const first = await run(['--from', server.url, '--to', path, '--json']);
      assert.equal(first.code, 0);
      const { ended, last, upserts } = JSON.parse(first.out);
      const total = [...source.records.values()].reduce((sum, records) => sum + records.size, 0);
      assert.deepEqual([ended, last, upserts], ['head', source.head.toString(), total]);
      source.put('Office', 'new');
      const second = await run(['--from', server.url, '--to', path], true);
      assert.match(second.out, /reached the head: 1 events, 1 records written/);
      assert.match(await readFile(path, 'utf8'), /"@key":"new"/);
      const verified = await run(['--from', server.url, '--to', path, '--verify']);
      assert.deepEqual([verified.code, /equals the source/.test(verified.out)], [0, true]);
    }));

  it('ends with 1 on a difference, and with 0 when it was mended', () =>
    withServer(async (server, source, path) => {
      await run(['--from', server.url, '--to', path, '--resources', 'Office,Member']);
      // A change that no pulse tells of.
      source.records.get('Office')?.set('silent', { OfficeKey: 'silent' });
      const options = ['--from', server.url, '--to', path, '--resources', 'Office,Member', '--verify'];
      const found = await run(options);
      assert.equal(found.code, 1);
      assert.match(found.out, /missing +Office "silent"/);
      assert.equal((await run([...options, '--repair'])).code, 0);
      assert.equal((await run(options)).code, 0);
    }));

  it('ends with 1 and the reason when the source refuses', () =>
    withServer(async (server, _, path) => {
      server.switches.token = 'Bearer right';
      const wrong = await run(['--from', server.url, '--to', path, '--token', 'wrong', '--json']);
      assert.equal(wrong.code, 1);
      assert.equal(JSON.parse(wrong.out).code, 'unauthorised');
      assert.ok(!wrong.err.includes('wrong'), 'the token is not told');
      assert.equal((await run(['--from', server.url, '--to', path, '--token', 'right'])).code, 0);
    }));

  it('ends with 2 on wrong usage', async () => {
    const from = ['--from', 'http://127.0.0.1:9'];
    const wrong = [
      [...from, '--to', 'copy.txt'],
      [...from, '--to', 'copy.ndjson', '--repair'],
      [...from, '--to', 'copy.ndjson', '--verify', '--follow'],
      [...from, '--to', 'copy.ndjson', '--client-id', 'x'],
      [...from, '--to', 'copy.ndjson', '--schema', 'x'],
      ['--from', 'not a url', '--to', join('does', 'not', 'matter.ndjson')],
    ];
    for (const args of wrong) assert.equal((await run(args)).code, 2, args.join(' '));
  });
});
