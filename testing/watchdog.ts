import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from './temporary-folder.ts';

/** Module state because one watchdog, started with the first server, serves the whole process. */
const state: { child: Promise<ChildProcess> | undefined } = { child: undefined };

/**
 * Sees to it that the process `pid` does not outlive this one, however this one ends: a small child of ours stops it
 * when it notices that we are gone. Call the returned function once the process has ended, so that its number, which
 * the system may give to another process, is forgotten.
 * @param lockFile is there for as long as the process needs its folder.
 */
export async function endWithThisProcess(pid: number, lockFile: string): Promise<() => void> {
  state.child ??= startWatchdog();
  const child = await state.child;
  child.stdin?.write(`+${pid} ${lockFile}\n`);
  return () => {
    child.stdin?.write(`-${pid}\n`);
  };
}

async function startWatchdog(): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./watchdog-process.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, await scratchFolder()], {
    // A session of its own: Ctrl-C in the terminal must not end it before its work is done.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  child.stdin?.on('error', () => undefined);
  return child;
}
