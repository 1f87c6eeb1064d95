import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atTestEnd } from '../../../testing/cleanup.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { lockDataDirectory } from './data-directory-lock.ts';

const module = fileURLToPath(new URL('data-directory-lock.ts', import.meta.url));

/** A process that holds the lock until it is killed. */
async function holder(folder: string): Promise<ChildProcess> {
  const program = `import(${JSON.stringify(`file://${module}`)}).then(async m => {
    await m.lockDataDirectory(${JSON.stringify(folder)});
    console.log('held');
    setInterval(() => {}, 1000);
  })`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atTestEnd(async () => {
    if (child.signalCode !== null || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

describe('the lock of a data directory', function () {
  this.timeout(30_000);

  it('keeps a second owner out and names the first, and is free again after release', async () => {
    const { path } = await temporaryFolder('lock');
    const lock = await lockDataDirectory(path);
    await assert.rejects(lockDataDirectory(path), {
      code: 'EE-701',
      message: `The data directory is in use by process ${process.pid}.`,
    });
    await lock.release();
    await (await lockDataDirectory(path)).release();
  });

  it('is taken over from an owner that was killed with SIGKILL', async () => {
    const { path } = await temporaryFolder('lock');
    const child = await holder(path);
    await assert.rejects(lockDataDirectory(path), { code: 'EE-701' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await lockDataDirectory(path)).release();
  });

  it('stays with an owner that is stopped: it may go on at any moment', async () => {
    const { path } = await temporaryFolder('lock');
    const child = await holder(path);
    child.kill('SIGSTOP');
    await assert.rejects(lockDataDirectory(path), { code: 'EE-701' });
    child.kill('SIGCONT');
  });

  it('is not believed when another process has got the number of the dead owner', async () => {
    const { path } = await temporaryFolder('lock');
    // This very process is alive, but nothing of it listens on that port with that nonce.
    const stale = { pid: process.pid, host: hostname(), port: 1, nonce: 'dead' };
    await writeFile(join(path, 'owner.json'), JSON.stringify(stale));
    await (await lockDataDirectory(path)).release();
  });

  it('has one winner when ten take it over from a dead owner at once', async () => {
    const { path } = await temporaryFolder('lock');
    const stale = { pid: 2 ** 22 + 1, host: hostname(), port: 1, nonce: 'dead' };
    await writeFile(join(path, 'owner.json'), JSON.stringify(stale));
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockDataDirectory(path)));
    const winners = tries.filter(result => result.status === 'fulfilled');
    assert.equal(winners.length, 1);
    const owner = JSON.parse(await readFile(join(path, 'owner.json'), 'utf8')) as { pid: number };
    assert.equal(owner.pid, process.pid);
    for (const { value } of winners) await value.release();
  });
});
