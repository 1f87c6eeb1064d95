import { randomBytes } from 'node:crypto';
import { runCanaries } from './canary/canary-run.ts';
import type { Context } from './context.ts';
import { type Walk, walkFeed } from './feed/walk.ts';
import type { Agent } from './http/agent.ts';
import type { Clock } from './http/clock.ts';
import type { Credentials } from './http/credentials.ts';
import { once } from './memo.ts';
import { runPush } from './push/push-run.ts';
import { Unexercised, Violation } from './rule.ts';
import { readMetadata } from './service/metadata.ts';
import { readableSamples, sampleRecords } from './service/records.ts';
import type { Settings } from './settings.ts';
import { runStress } from './stress/stress-run.ts';

/** A context, and the walk if a rule has asked for it by now. */
export type MadeContext = { context: Context; walkIfMade(): Walk | undefined };

/** Builds what the rules share for one run. Nothing is sent before a rule asks for it. */
export function makeContext(
  settings: Settings,
  http: Agent,
  clock: Clock,
  credentials: Credentials,
): MadeContext {
  const runId = randomBytes(4).toString('hex');
  const service = once(async () => {
    const exchange = await http.send('$metadata', { headers: { Accept: 'application/xml' } });
    const read = exchange.status === 200 ? readMetadata(exchange) : undefined;
    if (read === undefined) throw new Unexercised('the metadata cannot be read', [exchange]);
    return read;
  });
  let made: Walk | undefined;
  const walk = once(async () => {
    try {
      made = await walkFeed(http, settings.maxEvents);
      return made;
    } catch (error) {
      if (error instanceof Violation)
        throw new Unexercised(`the log cannot be read: ${error.message}`, error.exchanges);
      throw error;
    }
  });
  const samples = new Map<string, Promise<Awaited<ReturnType<typeof sampleRecords>>>>();
  const records = async (resource: string) => {
    const known = samples.get(resource);
    if (known !== undefined) return known;
    const reading = sampleRecords(http, await service(), resource);
    samples.set(resource, reading);
    return reading;
  };
  const context: Context = {
    settings,
    http,
    clock,
    walk,
    service,
    records,
    samples: async function* () {
      yield* readableSamples(await service(), records);
    },
    canaries: once(async () => runCanaries(http, clock, await service(), settings.canary, runId)),
    stress: once(async () => runStress(http, clock, await service(), settings, runId)),
    push: once(() => runPush(http, clock, settings)),
    tokenExchange: credentials.tokenExchange,
  };
  return { context, walkIfMade: () => made };
}
