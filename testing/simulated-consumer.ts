import { memoryStore, replicate } from '../client/index.ts';
import type { SeededRandom } from './seeded-random.ts';
import { openTurnstile, type Turnstile } from './turnstile.ts';

/** A consumer that keeps a copy with the replication client, one request at a time. */
export interface SimulatedConsumer {
  /** Goes on by one request; begins a run when none is under way; sometimes waits or crashes instead. */
  step(): Promise<void>;
  /** Ends the run in hand and makes another, undisturbed, to the head. */
  finish(): Promise<void>;
  /** Key -> version of what it has. */
  copy(): Map<string, string>;
  close(): Promise<void>;
}

/** What is copied, as the client wants to know it. */
export interface CopiedResources {
  /** Key field by resource. */
  readonly keys: Readonly<Record<string, string>>;
  readonly parents: Readonly<Record<string, readonly string[]>>;
}

/** Opens a consumer of the server at `url`; nothing is asked before the first step. */
export async function openSimulatedConsumer(
  url: string,
  token: string,
  { keys, parents }: CopiedResources,
  random: SeededRandom,
): Promise<SimulatedConsumer> {
  const turnstile = await openTurnstile(url);
  const store = memoryStore();
  let run: { readonly ended: Promise<unknown>; readonly crash: AbortController } | undefined;

  const begin = () => {
    const crash = new AbortController();
    const ended = replicate({
      ...{ url: turnstile.url, auth: { kind: 'bearer', token }, keys, parents, store, signal: crash.signal },
      // Small, so that a run is many requests and many writes of the cursor.
      ...{ pageSize: 1 + random.below(12), readAhead: 1, windowSize: 1 + random.below(12) },
      ...{ batchSize: 1 + random.below(6), concurrency: 1 + random.below(2) },
      retry: { attempts: 2, baseMs: 1, capMs: 1 },
    });
    run = { ended, crash };
    return run;
  };

  const drive = async (turns: Turnstile, ended: Promise<unknown>) => {
    let over = false;
    const end = ended.finally(() => {
      over = true;
    });
    for (let request = 0; !over; request += 1) {
      if (request > 5_000) throw new Error('the copy does not reach the head');
      await turns.untilHeld(end);
      await turns.pass();
    }
    await end;
  };

  return {
    async step() {
      if (run !== undefined && random.below(100) < 4) {
        // What it had read but not stored is gone; the next run begins at the cursor that was stored.
        run.crash.abort();
        await run.ended;
        run = undefined;
      } else if (run === undefined || random.below(100) < 70) {
        const { ended } = run ?? begin();
        await turnstile.pass();
        let over = false;
        await turnstile.untilHeld(
          ended.then(() => {
            over = true;
          }),
        );
        if (over) run = undefined;
      }
    },
    async finish() {
      if (run !== undefined) await drive(turnstile, run.ended);
      await drive(turnstile, begin().ended);
      run = undefined;
    },
    copy: () =>
      new Map(
        Object.keys(keys).flatMap(resource =>
          [...store.contents(resource)].map(([key, record]): [string, string] => [key, String(record.v)]),
        ),
      ),
    async close() {
      run?.crash.abort();
      await run?.ended;
      await turnstile.close();
      await store.close();
    },
  };
}
