import { randomUUID } from 'node:crypto';
import { type Json, type JsonObject, writeExactJson } from '../http/exact-json.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import type { LogRow, Store } from './breakable-data.ts';
import type { IsOn } from './switches.ts';

type Subscription = {
  id: string;
  url: string;
  token: string;
  source: string;
  cursor: bigint;
  paused: boolean;
  open: boolean;
};

const batchSize = 8;
const retryMs = 60;

/**
 * Pushes the log to subscriptions, each with a cursor of its own.
 * States of a subscription: flowing, paused (after 401 or 403, until resumed), closed.
 */
export class Push {
  private readonly store: Store;
  private readonly on: IsOn;
  private readonly credentials = new Map<string, string>();
  private readonly subscriptions = new Map<string, Subscription>();
  private readonly waiting = new Set<() => void>();
  private isOpen = true;

  constructor(store: Store, on: IsOn) {
    this.store = store;
    this.on = on;
  }

  /** Stores a token and gives it an id. */
  addCredential(token: string): string {
    const id = randomUUID();
    this.credentials.set(id, token);
    return id;
  }

  /** Creates a subscription and starts it. Undefined when a field is missing. */
  subscribe(fields: JsonObject): string | undefined {
    const token = this.credentials.get(String(fields.CallbackCredentialId));
    const url = fields.CallbackUrl;
    if (token === undefined || typeof url !== 'string') return undefined;
    const asked = fields.EntityEventSequence;
    const from = typeof asked === 'bigint' ? asked : (this.store.log.at(-1)?.sequence ?? 0n);
    const subscription: Subscription = {
      id: randomUUID(),
      url,
      token,
      source: String(fields.EntityEventSource ?? ''),
      cursor: this.on('push-ignores-start') ? 0n : from,
      paused: false,
      open: true,
    };
    this.subscriptions.set(subscription.id, subscription);
    void this.run(subscription);
    return subscription.id;
  }

  resume(id: string): boolean {
    const subscription = this.subscriptions.get(id);
    if (subscription === undefined) return false;
    if (!this.on('resume-ignored')) subscription.paused = false;
    this.wake();
    return true;
  }

  remove(id: string): boolean {
    const subscription = this.subscriptions.get(id);
    if (subscription !== undefined) subscription.open = false;
    this.wake();
    return this.subscriptions.delete(id) || this.credentials.delete(id);
  }

  /** What stands open. */
  held(): { subscriptions: number; credentials: number } {
    return { subscriptions: this.subscriptions.size, credentials: this.credentials.size };
  }

  /** To be called when the log has grown. */
  wake(): void {
    for (const go of [...this.waiting]) go();
  }

  close(): void {
    this.isOpen = false;
    this.wake();
  }

  private async run(subscription: Subscription): Promise<void> {
    while (this.isOpen && subscription.open) {
      const batch = this.store.log.filter(row => row.sequence > subscription.cursor).slice(0, batchSize);
      if (subscription.paused || batch.length === 0) await this.pause(undefined);
      else await this.deliver(subscription, batch);
    }
  }

  private async deliver(subscription: Subscription, batch: LogRow[]): Promise<void> {
    const last = batch.at(-1)?.sequence ?? subscription.cursor;
    const response = await this.post(subscription, batch);
    const status = response?.status ?? 0;
    const after = response?.headers.get('retry-after') ?? undefined;
    if (status >= 200 && status < 300) subscription.cursor = last;
    else if (status === 401 || status === 403) subscription.paused = true;
    else if (status === 429 && after === undefined && this.on('push-ignores-429')) subscription.cursor = last;
    else if (status === 500 && this.on('push-drops-on-500')) subscription.cursor = last;
    else await this.pause(this.patience(after));
  }

  private patience(after: string | undefined): number {
    const isSeconds = after !== undefined && /^\d+$/.test(after);
    if (isSeconds && this.on('push-ignores-retry-after-seconds')) return retryMs;
    if (after !== undefined && !isSeconds && this.on('push-ignores-retry-after-date')) return retryMs;
    return retryAfterMs(after, Date.now()) ?? retryMs;
  }

  private async post(subscription: Subscription, batch: readonly LogRow[]): Promise<Response | undefined> {
    const { on } = this;
    const headers: Record<string, string> = {
      'Content-Type': on('push-wrong-content-type') ? 'text/plain' : 'application/json',
    };
    if (!on('push-without-bearer')) headers.Authorization = `Bearer ${subscription.token}`;
    if (!on('push-without-source')) headers.EntityEventSource = subscription.source;
    const method = on('push-uses-put') ? 'PUT' : 'POST';
    try {
      const response = await fetch(subscription.url, {
        method,
        headers,
        body: writeExactJson(this.payload(batch)),
      });
      await response.arrayBuffer();
      return response;
    } catch {
      return undefined;
    }
  }

  private payload(batch: readonly LogRow[]): Json {
    const { on } = this;
    const skipped = this.store.log.at(-4)?.sequence;
    const rows = batch
      .filter(row => !(on('push-skips-event') && row.sequence === skipped))
      .map(row => ({
        EntityEventSequence: row.sequence,
        ResourceName: row.resource,
        ResourceRecordKey:
          on('push-key-as-number') && /^\d+$/.test(row.key)
            ? BigInt(row.key)
            : `${row.key}${on('push-wrong-record') ? 'x' : ''}`,
      }));
    const repeated = rows.at(-1);
    if (on('push-batch-repeats') && repeated !== undefined) rows.push(repeated);
    if (on('push-unordered')) rows.reverse();
    const context = on('push-no-context')
      ? {}
      : { '@reso.context': 'urn:reso:metadata:2.0:resource:entityevent' };
    return { ...context, value: rows };
  }

  /** Waits for the given time or, without one, until something changes. */
  private pause(ms: number | undefined): Promise<void> {
    return new Promise(resolve => {
      const timer = ms === undefined ? undefined : setTimeout(() => go(true), ms);
      const go = (isOver = false) => {
        if (ms !== undefined && !isOver && this.isOpen) return;
        clearTimeout(timer);
        this.waiting.delete(go);
        resolve();
      };
      this.waiting.add(go);
    });
  }
}
