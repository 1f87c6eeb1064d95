import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type TestDatabase, testDatabase } from './postgres.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const resolve = createRequire(import.meta.url).resolve;

describe('the mocha hooks', () => {
  let folder: TemporaryFolder;
  let database: TestDatabase;

  before(async () => {
    folder = await temporaryFolder('mocha');
    database = await testDatabase();
  });

  after(async () => {
    await folder.remove();
    await database.drop();
  });

  async function runMocha(name: string, body: string): Promise<{ code: number; output: string }> {
    const file = join(folder.path, `${name}.test.mjs`);
    await writeFile(file, body);
    const hooks = fileURLToPath(new URL('./mocha-hooks.ts', import.meta.url));
    const mocha = join(resolve('mocha/package.json'), '..', 'bin', 'mocha.js');
    const args = ['--import', 'tsx', mocha, '--no-config', '--require', hooks, file];
    const child = spawn(process.execPath, args, {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { ...process.env, TEST_DATABASE_URL: database.url },
    });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code, output: out + err };
  }

  it('fail a run whose tests pass but leave a connection open, and name the test file', async () => {
    const harness = JSON.stringify(new URL('./postgres.ts', import.meta.url).href);
    const pg = JSON.stringify(resolve('pg'));
    const { code, output } = await runMocha(
      'careless',
      `import pg from ${pg};
      import { testDatabase } from ${harness};
      it('passes', async () => {
        const { url } = await testDatabase({ name: 'careless' });
        const client = new pg.Client({ connectionString: url });
        client.on('error', () => undefined);
        await client.connect();
      });`,
    );
    assert.match(output, /1 passing/);
    assert.match(output, /connections left open:\s+pulsefeed_test_\d+_1_careless/);
    assert.equal(code, 1);
  });

  it('fail a run whose tests pass but leave a timer that keeps the process alive', async () => {
    const { code, output } = await runMocha('timer', `it('passes', () => void setInterval(() => {}, 1000));`);
    assert.match(output, /1 passing/);
    assert.match(output, /left something open that keeps the process alive: Timeout/);
    assert.equal(code, 1);
  });

  it('let a run that closes everything end by itself', async () => {
    const { code, output } = await runMocha('tidy', `it('passes', () => undefined);`);
    assert.equal(code, 0, output);
  });
});
