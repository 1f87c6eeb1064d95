// Plain JavaScript, so that node starts it without a loader. It lives as long as the test process holds the other end
// of its standard input, which the system closes even on kill -9; then it stops the servers that are still listed and
// removes the scratch folder given as its argument. Lines: "+PID LOCKFILE" was started, "-PID" has ended.
import { existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const GIVE_UP_MS = 5_000;
const lockFiles = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const [, sign, pid, lockFile] = /^([+-])(\d+) ?(.*)$/.exec(line) ?? [];
  if (sign === '+') lockFiles.set(Number(pid), lockFile);
  else lockFiles.delete(Number(pid));
}
// SIGQUIT is Postgres's immediate shutdown: it takes its children with it and frees its shared memory. The lock file
// goes last. The process may stay listed after that until the system's first process has taken note of its end.
const pids = [...lockFiles.keys()];
for (const pid of pids) signal(pid, 'SIGQUIT');
const deadline = performance.now() + GIVE_UP_MS;
while (pids.some(isRunning) && performance.now() < deadline) await delay(20);
for (const pid of pids.filter(isRunning)) signal(pid, 'SIGKILL');
const [, , folder] = process.argv;
if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });

function isRunning(pid) {
  return existsSync(lockFiles.get(pid)) && signal(pid, 0);
}

function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
