import type { JsonObject } from '../http/exact-json.ts';
import type { IsOn } from './switches.ts';

/** A row of the test server's log. */
export type LogRow = { sequence: bigint; resource: string; key: string };

/** All that the test server knows. */
export type Store = {
  /** Records by resource, then by key. */
  records: Map<string, Map<string, JsonObject>>;
  /** Ascending by number. */
  log: LogRow[];
};

/** The key field of each resource. */
export const keyNames: Record<string, string> = {
  Property: 'ListingKey',
  Member: 'MemberKey',
  Office: 'OfficeKey',
  Media: 'MediaKey',
  Field: 'FieldKey',
  Lookup: 'LookupKey',
};

/** The first number: forty below 2^53, so that the log crosses the end of exact floating point. */
const firstSequence = 2n ** 53n - 40n;
const hourMs = 3_600_000;

/** Makes a store with records of all kinds and a log with gaps, of which one event stands for a record that is gone. */
export function makeStore(on: IsOn, events: number): Store {
  const store: Store = { records: new Map(), log: [] };
  for (const resource of Object.keys(keyNames)) store.records.set(resource, new Map());
  for (let index = 0; index < 12; index += 1) put(store, 'Property', property(index));
  for (let index = 0; index < 6; index += 1) {
    put(store, 'Member', { MemberKey: `M${index}`, MemberFullName: `Member ${index}`, ...stamp(index) });
    put(store, 'Office', { OfficeKey: `10${index}`, OfficeName: `Office ${index}`, ...stamp(index) });
  }
  for (let index = 0; index < 10; index += 1) {
    const of = { ResourceName: 'Property', ResourceRecordKey: `P${index % 5}` };
    put(store, 'Media', { MediaKey: `X${index}`, MediaCategory: 'Photo', ...of, ...stamp(index) });
  }
  put(store, 'Field', { FieldKey: 'f1', ResourceName: 'Property', FieldName: 'ListPrice', ...stamp(0) });
  if (!on('lookup-empty')) {
    for (const [index, value] of ['Residential', 'Land', 'Business Opportunity'].entries()) {
      put(store, 'Lookup', {
        LookupKey: `l${index}`,
        LookupName: 'PropertyType',
        LookupValue: value,
        ...stamp(0),
      });
    }
  }
  fillLog(store, events);
  if (on('compaction-drops-last-pulse')) store.log = store.log.filter(row => row.key !== 'P3');
  return store;
}

function fillLog(store: Store, events: number): void {
  const keys: { resource: string; key: string }[] = [];
  for (const [resource, records] of store.records) {
    if (resource === 'Field' || resource === 'Lookup') continue;
    for (const key of records.keys()) keys.push({ resource, key });
  }
  let sequence = firstSequence;
  const once = keys.length;
  for (let index = 0; index < events; index += 1) {
    const named = keys[index < once ? index : (index * 7) % once];
    if (named === undefined) continue;
    const isGone = index === events - 1;
    store.log.push({ sequence, resource: named.resource, key: isGone ? 'gone' : named.key });
    sequence += index % 4 === 3 ? 3n : 1n;
  }
}

function put(store: Store, resource: string, record: JsonObject): void {
  store.records.get(resource)?.set(String(record[keyNames[resource] ?? '']), record);
}

function stamp(index: number): JsonObject {
  return { ModificationTimestamp: new Date(Date.now() - (index + 1) * 5 * hourMs).toISOString() };
}

function property(index: number): JsonObject {
  const features = ['Accessible Entrance', 'Visitable', 'Grip-Accessible Features'];
  return {
    ListingKey: index === 11 ? "O'Neil 7" : `P${index}`,
    ListPrice: index === 4 ? null : 100_000.5 + index * 1000,
    CloseDate: index % 3 === 0 ? null : `2024-0${(index % 9) + 1}-15`,
    WaterfrontYN: index % 2 === 0,
    StandardStatus: index % 3 === 0 ? 'Active' : 'Closed',
    PropertyType: index % 4 === 0 ? 'Land' : 'Residential',
    AccessibilityFeatures: features.slice(0, index % 4).reverse(),
    PublicRemarks: `Remarks ${index}`,
    // One listing is older than a year, so that a filter on the time leaves something out.
    ...stamp(index === 10 ? 2000 : index),
  };
}
