import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../server/base/db/index.ts';
import type { Observe } from '../server/base/observe.ts';
import { quantile, spread } from './visibility-figures.ts';

/** What a time of the load came to. */
export interface LoadFigures {
  /** Milliseconds that each write's transaction took. */
  readonly writes: readonly number[];
  /** Milliseconds from each write's commit to its number. */
  readonly numbered: readonly number[];
}

const pauseMs = 5;
/** How often the log is looked at for the numbers of what was written. */
const lookMs = 5;

/** Changes listings `prefix`1 to `prefix``count`, one a transaction, in two sessions, until `done` resolves. */
export async function writeUntil(
  db: Db,
  done: Promise<unknown>,
  { prefix, count }: { readonly prefix: string; readonly count: number },
): Promise<LoadFigures> {
  const state = { over: false };
  const finished = done.then(() => {
    state.over = true;
  });
  const writes: number[] = [];
  const committed = new Map<string, number>();
  const writer = async () => {
    while (!state.over) {
      const key = `${prefix}${1 + Math.floor(Math.random() * count)}`;
      const startedAt = performance.now();
      await db.query({ text: `update property set v = v + 1 where "ListingKey" = $1`, values: [key] });
      const at = performance.now();
      writes.push(at - startedAt);
      if (!committed.has(key)) committed.set(key, at);
      await sleep(pauseMs);
    }
  };
  const numbered: number[] = [];
  const watch = watchNumbers(db, committed, numbered, () => state.over);
  await Promise.all([finished, writer(), writer(), watch]);
  return { writes, numbered };
}

/** Follows the log as one who sees all of it, and tells how long each committed change waited. */
async function watchNumbers(
  db: Db,
  committed: Map<string, number>,
  numbered: number[],
  over: () => boolean,
): Promise<void> {
  const [head] = await db.query<{ seq: bigint }>({ text: 'select last_seq as seq from pulsefeed.log_head' });
  let cursor = head?.seq ?? 0n;
  const giveUpAt = () => performance.now() > lastAt + 10_000;
  let lastAt = performance.now();
  while (!over() || (committed.size > 0 && !giveUpAt())) {
    if (!over()) lastAt = performance.now();
    const rows = await db.query<{ seq: bigint; key: string }>({
      text: `select seq, key from pulsefeed.entity_event where seq > $1 order by seq limit 20000`,
      values: [cursor],
    });
    const at = performance.now();
    cursor = rows.at(-1)?.seq ?? cursor;
    for (const { key } of rows) {
      const since = committed.get(key);
      if (since === undefined) continue;
      numbered.push(at - since);
      committed.delete(key);
    }
    await sleep(lookMs);
  }
}

/** Resolves when no change waits, no batch and no walk is open. */
export async function untilSettled(db: Db, resource: (key: string) => boolean = () => true): Promise<void> {
  for (;;) {
    const [row] = await db.query<{ busy: boolean; waiting: string[] }>({
      text: `
select h.batch_stage is not null or exists (select from pulsefeed.visibility_walk where finished_at is null) as busy,
  array(select key from pulsefeed.record_change limit 100) as waiting
from pulsefeed.log_head h`,
    });
    if (row?.busy === false && !row.waiting.some(resource)) return;
    await sleep(50);
  }
}

/** Keeps the times of sequencer steps that worked. */
export function stepWatch(): {
  readonly observe: Observe;
  readonly steps: number[];
  readonly failures: unknown[];
  /** The longest step: it is begun anew by setting `ms` to 0. */
  readonly longest: { ms: number; told: string };
} {
  const steps: number[] = [];
  const failures: unknown[] = [];
  const longest = { ms: 0, told: '' };
  return {
    steps,
    failures,
    longest,
    observe(observation) {
      if (observation.kind === 'BatchNumbered') {
        const { ms, changes, pulses } = observation;
        steps.push(ms);
        if (ms > longest.ms) {
          longest.ms = ms;
          longest.told = `${ms.toFixed(0)} ms, of ${changes} changes and ${pulses} pulses`;
        }
      }
      if (observation.kind === 'SequencerFailed' || observation.kind === 'WalkFailed')
        failures.push(observation.error);
    },
  };
}

/** The line of the report that compares a busy time with a quiet one. */
export function compared(quiet: readonly number[], busy: readonly number[]): string {
  const ratio = quantile(busy, 0.99) / quantile(quiet, 0.99);
  return `quiet ${spread(quiet)}; busy ${spread(busy)}; p99 ${ratio.toFixed(2)} times`;
}
