import type { Context } from '../context.ts';
import type { WalkPage } from '../feed/walk.ts';
import type { JsonObject } from '../http/exact-json.ts';
import { fail, pass, type Verdict } from '../rule.ts';
import { walkWithEvents } from './sampled-events.ts';

/** Looks at each row of the walk; `fault` says what is wrong with a row, or undefined. */
export async function everyRow(
  context: Context,
  fault: (row: JsonObject) => string | undefined,
  good: string,
  remedy: string,
): Promise<Verdict> {
  const walk = await walkWithEvents(context);
  let faults = 0;
  let first: { text: string; page: WalkPage } | undefined;
  let rows = 0;
  for (const page of walk.pages) {
    for (const row of page.rows) {
      rows += 1;
      const text = fault(row);
      if (text === undefined) continue;
      faults += 1;
      first ??= { text, page };
    }
  }
  if (first !== undefined)
    return fail(`${faults} of ${rows} rows: ${first.text}`, remedy, [first.page.exchange]);
  return pass(
    `${rows} rows: ${good}`,
    walk.pages.slice(0, 1).map(page => page.exchange),
  );
}
