import type { JsonObject } from '../http/exact-json.ts';
import { keyNames, type LogRow, type Store } from './breakable-data.ts';
import type { IsOn } from './switches.ts';

const queueMs = 25;
const lateMs = 60;

/**
 * Writes records and numbers their events. Without a switch an event is in the log, at the head, before the write is
 * answered. Holds timers only while an ordering switch is on.
 */
export class Writes {
  private readonly store: Store;
  private readonly on: IsOn;
  private readonly timers = new Set<NodeJS.Timeout>();
  private queue: { resource: string; key: string }[] = [];
  private emitted = 0;
  private lowest: bigint;
  /** Records as they were, for the switches that serve old values. */
  readonly old = new Map<string, JsonObject>();
  private readonly onAppend: () => void;

  constructor(store: Store, on: IsOn, onAppend: () => void) {
    this.store = store;
    this.on = on;
    this.onAppend = onAppend;
    this.lowest = (store.log[0]?.sequence ?? 1n) - 1000n;
  }

  create(resource: string, record: JsonObject): void {
    const key = String(record[keyNames[resource] ?? '']);
    const whole = { ModificationTimestamp: new Date().toISOString(), ...record };
    this.store.records.get(resource)?.set(key, whole);
    if (!this.on('create-silent')) this.emit(resource, key);
  }

  update(resource: string, key: string, fields: JsonObject): void {
    const records = this.store.records.get(resource);
    const before = records?.get(key) ?? {};
    this.old.set(`${resource}/${key}`, before);
    records?.set(key, { ...before, ...fields, ModificationTimestamp: new Date().toISOString() });
    if (!this.on('update-silent')) this.emit(resource, key);
  }

  /** Deletes a record with its photos, whose events come first. */
  remove(resource: string, key: string): void {
    const record = this.store.records.get(resource)?.get(key);
    if (record !== undefined) this.old.set(`deleted ${resource}/${key}`, record);
    const photos = [...(this.store.records.get('Media') ?? [])].filter(
      ([, photo]) => photo.ResourceName === resource && photo.ResourceRecordKey === key,
    );
    this.store.records.get(resource)?.delete(key);
    for (const [photo] of photos) this.store.records.get('Media')?.delete(photo);
    if (this.on('delete-silent')) return;
    const children = photos.map(([photo]) => ({ resource: 'Media', key: photo }));
    const own = { resource, key };
    const order = this.on('child-after-parent-on-removal') ? [own, ...children] : [...children, own];
    for (const each of order) this.emit(each.resource, each.key);
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }

  private emit(resource: string, key: string): void {
    this.emitted += 1;
    if (this.on('loses-events-under-load') && this.emitted % 7 === 0) return;
    if (this.on('event-below-head')) {
      this.store.log.push({ sequence: this.lowest, resource, key });
      this.store.log.sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
      this.lowest += 1n;
      return;
    }
    if (this.on('late-commit') && this.emitted % 5 === 0) {
      const row = { sequence: this.nextNumber(), resource, key };
      this.store.log.push({ sequence: row.sequence, resource: '', key: '' });
      this.later(lateMs, () => this.reveal(row));
      return;
    }
    if (this.on('order-swapped') || this.on('child-event-first')) {
      if (this.queue.length === 0) this.later(queueMs, () => this.flush());
      this.queue.push({ resource, key });
      return;
    }
    this.append(resource, key);
  }

  private flush(): void {
    const queue = this.queue;
    this.queue = [];
    const rank = (each: { resource: string }) => (each.resource === 'Media' ? 0 : 1);
    if (this.on('child-event-first')) queue.sort((a, b) => rank(a) - rank(b));
    else if (new Set(queue.map(rank)).size === 1) queue.reverse();
    for (const { resource, key } of queue) this.append(resource, key);
  }

  /** A row whose number was taken long ago becomes visible in its place. */
  private reveal(row: LogRow): void {
    const at = this.store.log.findIndex(each => each.sequence === row.sequence);
    this.store.log[at] = row;
    this.onAppend();
  }

  private append(resource: string, key: string): void {
    this.store.log.push({ sequence: this.nextNumber(), resource, key });
    this.onAppend();
  }

  private nextNumber(): bigint {
    return (this.store.log.at(-1)?.sequence ?? 0n) + 1n;
  }

  private later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
  }
}
