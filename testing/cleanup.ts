/** Something to close. Errors it throws fail the test or the run. */
export type Cleanup = () => Promise<void> | void;

type Registry = { test: Cleanup[]; run: Cleanup[] };

/**
 * The one list of what is open in this process. It hangs on `globalThis` because mocha may load the hooks and the
 * test files through different loaders, which would give each its own copy of this module.
 */
const place = globalThis as typeof globalThis & { pulsefeedTestCleanup?: Registry };
place.pulsefeedTestCleanup ??= { test: [], run: [] };
const registry: Registry = place.pulsefeedTestCleanup;

/** Runs `cleanup` when the current test has ended, last registered first. */
export function atTestEnd(cleanup: Cleanup): void {
  registry.test.push(cleanup);
}

/** Runs `cleanup` when all tests have ended, last registered first. */
export function atRunEnd(cleanup: Cleanup): void {
  registry.run.push(cleanup);
}

/**
 * Runs what was registered for the end of the test or of the run, and forgets it. One that fails does not keep the
 * others from running.
 * @throws the error, or one Error that joins the messages when several failed.
 */
export async function cleanUp(moment: keyof Registry): Promise<void> {
  const errors: unknown[] = [];
  for (let next = registry[moment].pop(); next !== undefined; next = registry[moment].pop()) {
    try {
      await next();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new Error(errors.map(String).join('\n'), { cause: errors });
}
