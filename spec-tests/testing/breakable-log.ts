import type { JsonObject } from '../http/exact-json.ts';
import type { LogRow, Store } from './breakable-data.ts';
import type { IsOn } from './switches.ts';

const late = 8;

/** The log as rows of EntityEvent, with the faults that concern what stands in a row. */
export class LogView {
  private readonly store: Store;
  private readonly on: IsOn;
  private readonly baseUrl: () => string;
  private readings = 0;
  /** True once a reader has been served the end of the log. */
  private wasReadToEnd = false;
  private readonly lateRow: LogRow | undefined;
  private readonly vanishingRow: LogRow | undefined;

  constructor(store: Store, on: IsOn, baseUrl: () => string) {
    this.store = store;
    this.on = on;
    this.baseUrl = baseUrl;
    const counts = new Map<string, number>();
    for (const row of store.log) counts.set(row.key, (counts.get(row.key) ?? 0) + 1);
    const lasts = store.log.filter(row => store.log.findLast(each => each.key === row.key) === row);
    const several = store.log.filter(row => (counts.get(row.key) ?? 0) > 1);
    this.lateRow = several[Math.min(late, several.length - 1)];
    this.vanishingRow = lasts[0];
  }

  /** All rows that can be seen now. */
  rows(): JsonObject[] {
    this.readings += 1;
    return this.store.log
      .filter(row => row.key !== '' && this.isVisible(row))
      .map((row, index) => this.rowOf(row, index));
  }

  /** To be told what a list request served, so that the switches that wait for it can act. */
  served(rows: readonly JsonObject[], isSorted: boolean): void {
    const last = this.store.log.at(-1)?.sequence;
    if (!isSorted && rows.some(row => String(row.EntityEventSequence) === String(last)))
      this.wasReadToEnd = true;
  }

  /** One row by its number. */
  find(sequence: bigint): JsonObject | undefined {
    const row = this.rows().find(each => String(each.EntityEventSequence) === sequence.toString());
    if (row === undefined || !this.on('same-number-other-key')) return row;
    return { ...row, ResourceRecordKey: `${String(row.ResourceRecordKey)}x` };
  }

  private isVisible(row: LogRow): boolean {
    if (this.on('late-low-number') && row === this.lateRow) return this.wasReadToEnd;
    if (this.on('last-pulse-vanishes') && row === this.vanishingRow) return !this.wasReadToEnd;
    return true;
  }

  /** The last event of a record is left alone, so that no write seems to be lost. */
  private isSuperseded(row: LogRow): boolean {
    return this.store.log.some(each => each.key === row.key && each.sequence > row.sequence);
  }

  private rowOf(row: LogRow, index: number): JsonObject {
    const { on } = this;
    const url = `${this.baseUrl()}/${row.resource}('${encodeURIComponent(row.key.replaceAll("'", "''"))}')`;
    const full: JsonObject = {
      EntityEventSequence: row.sequence,
      ResourceName: row.resource,
      ResourceRecordKey: row.key,
      ResourceRecordUrl: on('record-url-broken') ? `${this.baseUrl()}/Broken` : url,
    };
    if (on('readers-disagree') && this.readings % 2 === 0 && this.isSuperseded(row))
      full.ResourceRecordKey = `${row.key}-other`;
    if (on('unknown-resource-name') && index === 30) full.ResourceName = 'Widget';
    if (on('key-field-absent') && index === 3) delete full.ResourceRecordKey;
    if (on('key-as-number') && index === 3) full.ResourceRecordKey = 539n;
    if (on('resource-name-as-number') && index === 3) full.ResourceName = 7n;
    return full;
  }
}
