import { setTimeout as delay } from 'node:timers/promises';

/** How long `until` asks and how often, in milliseconds. */
export type UntilOptions = { withinMs?: number; everyMs?: number };

/**
 * Asks `check` again and again until it answers something other than undefined or false, and returns that answer.
 * For states that only another process can report; where a promise or an event exists, await that instead.
 * @param what completes the sentence "waited 5000 ms for ..." of the error.
 * @throws Error naming `what` when `withinMs` (5000 unless told) have passed; whatever `check` throws is passed on.
 */
export async function until<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  { withinMs = 5_000, everyMs = 5 }: UntilOptions = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await check();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() >= deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await delay(everyMs);
  }
}

/**
 * Awaits `promise`, but no longer than `withinMs`. The timer keeps the process alive meanwhile, so that handles
 * which do not (an unreferenced child process, say) can be awaited safely.
 * @throws Error naming `what` when the time is up.
 */
export async function within<T>(what: string, promise: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${withinMs} ms for ${what}`)), withinMs);
  });
  try {
    return await Promise.race([promise, expiry]);
  } finally {
    clearTimeout(timer);
  }
}
