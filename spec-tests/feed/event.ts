import type { JsonObject } from '../http/exact-json.ts';
import { integerOf } from '../http/page.ts';

/** One row of the log: "fetch this record again". RCP-027, Entity Events. */
export type FeedEvent = { sequence: bigint; resource: string; key: string };

/**
 * Reads a row leniently (a sequence in quotes, a key that is a number), so that one fault does not hide the others;
 * the rules on types look at the row itself. Undefined when a field is missing.
 */
export function eventOf(row: JsonObject): FeedEvent | undefined {
  const sequence = integerOf(row.EntityEventSequence);
  const resource = row.ResourceName;
  const key = row.ResourceRecordKey;
  if (sequence === undefined || resource === null || resource === undefined) return undefined;
  if (typeof key !== 'string' && typeof key !== 'bigint' && typeof key !== 'number') return undefined;
  return { sequence, resource: String(resource), key: String(key) };
}

/** The rows that can be read as events. */
export function eventsOf(rows: readonly JsonObject[]): FeedEvent[] {
  return rows.map(eventOf).filter(event => event !== undefined);
}

/** One text for a record, for use as a map key. */
export function recordId(event: { resource: string; key: string }): string {
  return `${event.resource}\u0000${event.key}`;
}

/** The lowest sequence, or undefined for none. */
export function lowest(events: readonly FeedEvent[]): bigint | undefined {
  let low: bigint | undefined;
  for (const { sequence } of events) if (low === undefined || sequence < low) low = sequence;
  return low;
}

/** The highest sequence, or undefined for none. */
export function highest(events: readonly FeedEvent[]): bigint | undefined {
  let high: bigint | undefined;
  for (const { sequence } of events) if (high === undefined || sequence > high) high = sequence;
  return high;
}
