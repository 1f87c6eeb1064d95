import { type FeedEvent, highest } from '../feed/event.ts';
import { readEvents } from '../feed/read.ts';
import { stringLiteral } from '../http/address.ts';
import type { Agent } from '../http/agent.ts';
import type { Clock } from '../http/clock.ts';
import type { Exchange } from '../http/exchange.ts';
import { Violation } from '../rule.ts';

/** Where the event of a write was found. */
export type Sighting = { event?: FeedEvent; place: 'above' | 'below' | 'nowhere'; exchange?: Exchange };

/** The number of an event that was found where it belongs, above the head of its time. */
export function numberAbove(sighting: Sighting): bigint | undefined {
  return sighting.place === 'above' ? sighting.event?.sequence : undefined;
}

const maxPagesPerLook = 50;

/**
 * Reads the tail of the log as a plain client does, by `gt <last number>`.
 * Invariant: `cursor` is the highest number that was served, and it never falls.
 */
export class Follower {
  private readonly http: Agent;
  private readonly clock: Clock;
  private readonly limits: { waitMs: number; pollMs: number };
  cursor: bigint;
  readonly events: FeedEvent[] = [];
  lastExchange: Exchange | undefined;

  constructor(http: Agent, clock: Clock, limits: { waitMs: number; pollMs: number }, cursor: bigint) {
    this.http = http;
    this.clock = clock;
    this.limits = limits;
    this.cursor = cursor;
  }

  /** Reads what is new. */
  async look(): Promise<void> {
    for (let pages = 0; pages < maxPagesPerLook; pages += 1) {
      const page = await readEvents(
        this.http,
        { $filter: `EntityEventSequence gt ${this.cursor}` },
        { maxPageSize: 1000 },
      );
      this.lastExchange = page.exchange;
      const fresh = page.events.filter(event => event.sequence > this.cursor);
      const reached = highest(fresh);
      if (reached === undefined) return;
      this.events.push(...fresh);
      this.cursor = reached;
      if (page.nextLink === undefined) return;
    }
  }

  /** Waits for an event of a record with a number above `after`. Where none comes, it looks below as well. */
  async waitFor(resource: string, key: string, after: bigint): Promise<Sighting> {
    const untilMs = this.clock.now() + this.limits.waitMs;
    for (;;) {
      await this.look();
      const event = this.events.find(
        each => each.resource === resource && each.key === key && each.sequence > after,
      );
      if (event !== undefined) return { event, place: 'above', ...this.seenIn() };
      if (this.clock.now() >= untilMs) break;
      await this.clock.sleep(this.limits.pollMs);
    }
    return this.lookBelow(resource, key);
  }

  private async lookBelow(resource: string, key: string): Promise<Sighting> {
    const filter = `ResourceName eq ${stringLiteral(resource)} and ResourceRecordKey eq ${stringLiteral(key)}`;
    try {
      const page = await readEvents(this.http, { $filter: filter });
      const known = new Set(this.events.map(event => event.sequence));
      const hidden = page.events.find(
        event => event.resource === resource && event.key === key && !known.has(event.sequence),
      );
      if (hidden !== undefined) return { event: hidden, place: 'below', exchange: page.exchange };
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
    }
    return { place: 'nowhere', ...this.seenIn() };
  }

  private seenIn(): { exchange?: Exchange } {
    return this.lastExchange === undefined ? {} : { exchange: this.lastExchange };
  }
}
