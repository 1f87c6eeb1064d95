import { highest, lowest } from './feed/event.ts';
import type { Walk } from './feed/walk.ts';
import type { WalkReport, WalkStep } from './report.ts';

/** The walk in the form of the report: one entry for each request, without the events themselves. */
export function reportWalk(walk: Walk): WalkReport {
  const seen = new Set<bigint>();
  let reached = -1n;
  const steps = walk.pages.map(page => {
    const low = lowest(page.events);
    const high = highest(page.events);
    const numbers = page.events.map(event => event.sequence);
    const step: WalkStep = {
      by: page.by,
      events: page.rows.length,
      repeats: numbers.filter(number => seen.has(number)).length,
      backwards: low !== undefined && low < reached,
      largestGap: largestGap(numbers).toString(),
    };
    if (low !== undefined) step.lowest = low.toString();
    if (high !== undefined) step.highest = high.toString();
    for (const number of numbers) seen.add(number);
    if (high !== undefined && high > reached) reached = high;
    return step;
  });
  const report: WalkReport = { events: walk.events.length, complete: walk.complete, steps };
  const first = lowest(walk.events);
  const last = highest(walk.events);
  if (first !== undefined) report.first = first.toString();
  if (last !== undefined) report.last = last.toString();
  const note = noteOf(walk);
  return note === undefined ? report : { ...report, note };
}

function largestGap(numbers: readonly bigint[]): bigint {
  let largest = 0n;
  const sorted = [...numbers].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  sorted.forEach((number, index) => {
    const gap = number - (sorted[index - 1] ?? number);
    if (gap > largest) largest = gap;
  });
  return largest;
}

function noteOf(walk: Walk): string | undefined {
  if (walk.brokenBy !== undefined) return `broken off: ${walk.brokenBy.reason}`;
  if (walk.endlessAt !== undefined) return 'the nextLinks go round in a circle';
  if (walk.cutShortAfter !== undefined) return 'a nextLink was missing although events were still owed';
  if (!walk.complete) return 'sampled: the limit on events was reached';
  return undefined;
}
