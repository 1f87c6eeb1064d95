import { type Agent, NoAnswer } from './http/agent.ts';
import { NoToken } from './http/credentials.ts';
import { isObject } from './http/exact-json.ts';
import { jsonOf, mediaType } from './http/exchange.ts';
import { Unexercised } from './rule.ts';

/** What is known before the first rule. */
export type Preflight = {
  /** Why nothing can be run. */
  problem?: string;
  /** Whether EntityEvent answers 200. */
  hasLog: boolean;
};

/**
 * Finds out with two requests whether anything can be run at all.
 * A service that answers wrongly can be judged; one that is absent, refuses the credentials or is no API cannot.
 */
export async function preflight(http: Agent): Promise<Preflight> {
  try {
    const feed = await http.send('EntityEvent?$top=1');
    const metadata = await http.send('$metadata', { headers: { Accept: 'application/xml' } });
    const statuses = [feed.status, metadata.status];
    if (feed.status === 401 || feed.status === 403) {
      return {
        problem: `the server refused the credentials (HTTP ${feed.status}): check --token, or --client-id and --client-secret`,
        hasLog: false,
      };
    }
    const isApi =
      isObject(jsonOf(feed)) || (metadata.status === 200 && /<(\w+:)?Edmx[\s>]/.test(metadata.text));
    if (isApi) return { hasLog: feed.status === 200 };
    const kinds = [feed, metadata].map(each => mediaType(each) || 'nothing').join(' and ');
    return {
      problem: `this is no OData service: EntityEvent and $metadata answered HTTP ${statuses.join(' and ')} with ${kinds}`,
      hasLog: false,
    };
  } catch (error) {
    if (error instanceof NoAnswer)
      return { problem: `${error.request.url}: ${error.message}`, hasLog: false };
    if (error instanceof NoToken || error instanceof Unexercised)
      return { problem: error.message, hasLog: false };
    throw error;
  }
}
