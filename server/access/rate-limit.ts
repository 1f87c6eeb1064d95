import type { Viewer } from '../base/auth/viewer.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';

/** Headers that tell a consumer how much it may still ask (IETF RateLimit header fields). */
export type RateLimitHeaders = Readonly<Record<string, string>>;

/** Counts a request of the viewer. @throws EE-202 with Retry-After when the minute is used up. */
export type CountRequest = (viewer: Viewer) => Promise<RateLimitHeaders>;

const windowS = 60;

/**
 * A limit per consumer that holds over all processes: one row a consumer in the database counts its minute. Nothing is
 * asked of the database while no limit is set.
 */
export function rateLimit(db: Db, requestsPerMinute: number): CountRequest {
  return async viewer => {
    if (requestsPerMinute === 0 || viewer.consumerId === undefined) return {};
    const [row] = await db.query<{ hits: number; resets: number }>({
      name: 'rate_limit',
      text: `
insert into pulsefeed.consumer_rate as r (consumer_id, window_at, hits) values ($1, now(), 1)
on conflict (consumer_id) do update set
  hits = case when r.window_at > now() - $2 * interval '1 second' then r.hits + 1 else 1 end,
  window_at = case when r.window_at > now() - $2 * interval '1 second' then r.window_at else now() end
returning hits, ceil(extract(epoch from window_at - now()) + $2)::int as resets`,
      values: [viewer.consumerId, windowS],
    });
    const hits = row?.hits ?? 0;
    const resets = row?.resets ?? windowS;
    const headers = {
      RateLimit: `"minute";r=${Math.max(0, requestsPerMinute - hits)};t=${resets}`,
      'RateLimit-Policy': `"minute";q=${requestsPerMinute};w=${windowS}`,
    };
    if (hits <= requestsPerMinute) return headers;
    throw new PulsefeedError('EE-202', `The limit is ${requestsPerMinute} requests a minute.`, {
      headers: { ...headers, 'Retry-After': String(Math.max(1, resets)) },
    });
  };
}
