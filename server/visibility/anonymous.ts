import type { Db } from '../base/db/index.ts';
import { addConsumer, changeConsumer, listConsumers } from './consumers.ts';

/** The consumer whose feeds are shown to whoever comes without a token. */
export const anonymousConsumer = 'anonymous';

/**
 * Makes the feeds of anonymous readers those of the configuration: a consumer of its own, so that they too are told
 * what they gain and lose. Nobody has its secret. @throws EE-205 for an unknown feed.
 */
export async function showToAnonymous(db: Db, feeds: readonly string[]): Promise<void> {
  const found = (await listConsumers(db)).find(({ name }) => name === anonymousConsumer);
  if (found === undefined) {
    if (feeds.length === 0) return;
    await addConsumer(db, {
      name: anonymousConsumer,
      clientId: anonymousConsumer,
      secretHash: '-',
      scopes: ['read'],
      attributes: {},
      grants: feeds,
    });
    return;
  }
  if ([...feeds].sort().join() !== [...found.grants].sort().join()) {
    await changeConsumer(db, anonymousConsumer, { grants: feeds });
  }
}
