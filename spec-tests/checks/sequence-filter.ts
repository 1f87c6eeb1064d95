import type { Context } from '../context.ts';
import type { FeedEvent } from '../feed/event.ts';
import { readEvents } from '../feed/read.ts';
import type { Exchange } from '../http/exchange.ts';
import { fail, pass, Unexercised, type Verdict, Violation } from '../rule.ts';
import { ascending, listed, walkWithEvents } from './sampled-events.ts';

/** A filter on the log, and the events of a stretch that must come back for it. */
export type SequenceCase = { filter: string; holds: (event: FeedEvent) => boolean };

/** A short stretch from the middle of the log. @throws Unexercised when it is too short. */
export async function stretch(context: Context, length: number): Promise<FeedEvent[]> {
  const all = ascending(await walkWithEvents(context));
  if (all.length < length) throw new Unexercised(`the log holds fewer than ${length} events`);
  const start = Math.floor((all.length - length) / 2);
  const first = all[start]?.sequence ?? 0n;
  const last = all[start + length - 1]?.sequence ?? 0n;
  // Read once more, since compaction may have taken some of them away since the walk.
  const now = await readEvents(
    context.http,
    { $filter: `EntityEventSequence gt ${first - 1n}` },
    { maxPageSize: 50 },
  );
  const events = now.events.filter(event => event.sequence <= last);
  if (events.length < 3)
    throw new Unexercised('the log changes too fast to compare two readings', [now.exchange]);
  return events.sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
}

/**
 * Sends each filter, bounded to the stretch, and compares the numbers that come back with those that should.
 */
export async function judgeOnStretch(
  context: Context,
  events: readonly FeedEvent[],
  cases: readonly SequenceCase[],
): Promise<Verdict> {
  const remedy = 'Evaluate the comparison on the numbers themselves, exactly.';
  const exchanges: Exchange[] = [];
  for (const { filter, holds } of cases) {
    const page = await readOrExplain(context, filter);
    exchanges.push(page.exchange);
    const wanted = events.filter(holds).map(event => event.sequence);
    const inside = new Set(events.map(event => event.sequence));
    const got = page.events.map(event => event.sequence).filter(sequence => inside.has(sequence));
    const extra = got.filter(sequence => !wanted.includes(sequence));
    if (extra.length > 0) return fail(`"${filter}" returned ${listed(extra)}`, remedy, [page.exchange]);
    const missing = wanted.filter(sequence => !got.includes(sequence));
    if (missing.length === 0 || page.nextLink !== undefined) continue;
    return fail(`"${filter}" did not return ${listed(missing)}`, remedy, [page.exchange]);
  }
  return pass(`${cases.length} filters on the log gave the events they should`, exchanges.slice(0, 2));
}

async function readOrExplain(context: Context, filter: string) {
  try {
    return await readEvents(context.http, { $filter: filter }, { maxPageSize: 1000 });
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Violation(
      `"${filter}": ${error.message}`,
      'Support this filter on EntityEvent.',
      error.exchanges,
    );
  }
}
