import type { HttpClient } from './http-client.ts';
import { type Pulse, readInteger, readJsonObject } from './page.ts';
import { collectionUrl } from './record-url.ts';
import { ReplicationError } from './replication-error.ts';

/** The larger of two numbers of the log. */
export function larger(one: bigint, other: bigint): bigint {
  if (one > other) return one;
  return other;
}

/** Orders pulses by their numbers. */
export function bySequence(one: Pulse, other: Pulse): number {
  return one.sequence < other.sequence ? -1 : one.sequence > other.sequence ? 1 : 0;
}

/**
 * Makes sure that a page out of order holds every pulse after `last` up to its highest number, by letting the source count
 * them. Fewer than the page has are fine: compaction may have taken some meanwhile.
 * @throws ReplicationError `unordered` when pulses are missing or the source does not count.
 */
export async function assertComplete(
  http: HttpClient,
  base: string,
  last: bigint | undefined,
  pulses: readonly Pulse[],
): Promise<void> {
  const highest = pulses.reduce((max, { sequence }) => larger(max, sequence), -1n);
  const distinct = new Set(pulses.map(({ sequence }) => sequence)).size;
  const after = last === undefined ? 'ge 0' : `gt ${last}`;
  const $filter = `EntityEventSequence ${after} and EntityEventSequence le ${highest}`;
  const url = collectionUrl(base, 'EntityEvent', { $filter, $top: '1', $count: 'true' });
  const count = await http.get(url, {}, answer => {
    if (answer.status !== 200) return undefined;
    const body = readJsonObject(answer);
    return readInteger(body['@odata.count'] ?? body['@count']);
  });
  if (count !== undefined && count <= BigInt(distinct)) return;
  const why =
    count === undefined
      ? 'and the source does not count them'
      : `but the source has ${count} up to ${highest}`;
  const message = `A page out of order brought ${distinct} pulses up to ${highest}, ${why}: advancing would lose pulses.`;
  throw new ReplicationError('unordered', message, { url });
}
