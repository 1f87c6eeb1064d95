import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FileSource } from './file-source.ts';
import type { Target } from './seed-fixture.ts';

const program = fileURLToPath(new URL('./seed-child.ts', import.meta.url));

function start(target: Target, chunkSize: number, file: FileSource | undefined): ChildProcess {
  const { databaseUrl, dataDir } = target;
  const args = [JSON.stringify({ databaseUrl, dataDir }), String(chunkSize)];
  if (file !== undefined) args.push(JSON.stringify(file));
  return spawn(process.execPath, ['--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Seeds in a process of its own. @throws when it fails. */
export async function seedInChild(target: Target, chunkSize: number, file?: FileSource): Promise<void> {
  const child = start(target, chunkSize, file);
  child.stdout?.resume();
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`The seeding process ended with ${code}.`);
}

/**
 * Kills a seeding process with SIGKILL when it has told its progress `atProgress` times. It goes on while the signal
 * is on its way, so where it dies differs from run to run. Returns false when it was through before.
 */
export async function runAndKill(
  target: Target,
  chunkSize: number,
  atProgress: number,
  file?: FileSource,
): Promise<boolean> {
  const child = start(target, chunkSize, file);
  const closed = once(child, 'close');
  let told = 0;
  if (child.stdout === null) throw new Error('The seeding process has no output.');
  for await (const _ of createInterface({ input: child.stdout })) {
    told += 1;
    if (told === atProgress) child.kill('SIGKILL');
  }
  const [, signal] = await closed;
  return signal === 'SIGKILL';
}
