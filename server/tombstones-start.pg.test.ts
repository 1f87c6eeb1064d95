import assert from 'node:assert/strict';
import { openFeed } from '../testing/captured-feed.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { createReporter } from './base/report.ts';
import { serve } from './serve.ts';

const resources = [{ name: 'Property', table: 'property', key: 'ListingKey' }];

describe('a server that does not keep removals for ever', () => {
  it('says at its start that initialising goes by nextLink only, whoever drops them', async () => {
    const { runtime } = await openFeed('create table property ("ListingKey" text primary key)', resources);
    for (const sequencer of [true, false]) {
      for (const tombstones of ['90d', 'forever']) {
        const settings = { ...runtime.config.settings, tombstones, sequencer, host: '127.0.0.1' };
        const lines: string[] = [];
        const reporter = createReporter('warn', { write: line => void lines.push(line) });
        const served = await serve({ ...runtime, config: { ...runtime.config, settings } }, reporter, {
          port: 0,
        });
        let stopped: Promise<void> | undefined;
        const stop = () => {
          stopped ??= served.stop();
          return stopped;
        };
        atTestEnd(stop);
        await stop();
        assert.equal(
          lines.some(line => /kept for 90d.*nextLink only/.test(line)),
          tombstones === '90d',
        );
      }
    }
  });
});
