import { cleanUp } from './cleanup.ts';

/** How long after the last test the process may still be busy closing things before that counts as a leak. */
const LINGER_MS = 3_000;

/** Stopping waits for closing connections and for a server to end, whatever timeout the tests have. */
const END_MS = 60_000;

/**
 * Mocha root hooks. They import nothing heavy: a run of pure unit tests starts no server and pays nothing. What a
 * test opened through `testing/` is closed after it; the test server is checked for leaks and stopped at the end.
 */
export const mochaHooks = {
  async afterEach(): Promise<void> {
    await cleanUp('test');
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(END_MS);
    await cleanUp('run');
  },
};

/**
 * Fails the run when something a test left open (a timer, a socket, a child process) keeps the process alive. The
 * timer is unreferenced: it fires only when something else holds the process.
 */
export function mochaGlobalTeardown(): void {
  const timer = setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter(name => name !== 'TTYWrap' && name !== 'PipeWrap');
    console.error(`A test left something open that keeps the process alive: ${open.join(', ') || 'unknown'}`);
    // Mocha sets the exit code in an exit listener of its own; the later listener has the last word.
    process.on('exit', () => {
      process.exitCode = 1;
    });
    process.exit(1);
  }, LINGER_MS);
  timer.unref();
}
