import { address, stringKey } from '../http/address.ts';
import type { Agent } from '../http/agent.ts';
import type { Json, JsonObject } from '../http/exact-json.ts';
import { type Page, readPage } from '../http/page.ts';
import { Unexercised, Violation } from '../rule.ts';
import type { EntityType, Field, Service } from './metadata.ts';

/** A few records of one resource. */
export type RecordSample = { resource: string; type: EntityType; page: Page; rows: JsonObject[] };

/** Record resources in the order in which a sample is wanted. */
const wellKnownResources = [
  'Property',
  'Member',
  'Office',
  'Media',
  'OpenHouse',
  'Showing',
  'InternetTracking',
];

const sampleSize = 25;
const maxResources = 8;

/** The record resources of a service, the well-known ones first; the log itself and descriptions of fields are none. */
function recordResources(service: Service): string[] {
  const others = [...service.sets.keys()].filter(
    name =>
      !wellKnownResources.includes(name) &&
      !/^(EntityEvent.*|Field|Lookup|.*Subscription|.*Credential)$/.test(name),
  );
  return [...wellKnownResources.filter(name => service.sets.has(name)), ...others].slice(0, maxResources);
}

/** Reads a sample of one resource. @throws Violation when the resource cannot be read. */
export async function sampleRecords(http: Agent, service: Service, resource: string): Promise<RecordSample> {
  const type = service.sets.get(resource);
  if (type === undefined) throw new Unexercised(`the metadata has no entity set ${resource}`);
  const page = await readPage(http, address(resource, { $top: sampleSize }));
  return { resource, type, page, rows: page.rows };
}

/** A field chosen for a test, with the sampled values that are not null. */
export type PickedField = { sample: RecordSample; field: Field; values: Json[] };

/**
 * Finds a record resource with a field that fits and that holds a value in the sample.
 * @throws Unexercised when there is none.
 */
export async function pickField(
  samples: () => AsyncIterable<RecordSample>,
  fits: (field: Field, type: EntityType) => boolean,
  what: string,
): Promise<PickedField> {
  for await (const sample of samples()) {
    for (const field of sample.type.fields.values()) {
      if (!fits(field, sample.type)) continue;
      const values = sample.rows
        .map(row => row[field.name])
        .filter(value => value !== null && value !== undefined);
      if (values.length > 0) return { sample, field, values };
    }
  }
  throw new Unexercised(`no record resource has ${what} with a value in its first ${sampleSize} records`);
}

/** Reads samples one after the other, passing over resources that cannot be read. */
export async function* readableSamples(
  service: Service,
  read: (resource: string) => Promise<RecordSample>,
): AsyncGenerator<RecordSample> {
  for (const resource of recordResources(service)) {
    try {
      yield await read(resource);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
    }
  }
}

/** The path of one record; numeric keys go unquoted when the metadata says that the key is a number. */
export function recordPath(service: Service, resource: string, key: string): string {
  const type = service.sets.get(resource);
  const field = type?.keys.length === 1 ? type.fields.get(type.keys[0] ?? '') : undefined;
  const isNumber = field !== undefined && /^Edm\.(Int16|Int32|Int64|Byte|Decimal)$/.test(field.type);
  return isNumber && /^-?[0-9]+$/.test(key) ? `${resource}(${key})` : `${resource}${stringKey(key)}`;
}

/** A sampled key to fetch by, one without special characters if there is any. Undefined when the sample has none. */
export function sampledKey(sample: RecordSample): string | undefined {
  const name = keyField(sample.type);
  const keys =
    name === undefined
      ? []
      : sample.rows.map(row => row[name]).filter(key => key !== null && key !== undefined);
  const texts = keys.map(String);
  return texts.find(key => /^[\w.~-]+$/.test(key)) ?? texts[0];
}

/** The name of the single key field, or undefined for a compound key. */
export function keyField(type: EntityType): string | undefined {
  return type.keys.length === 1 ? type.keys[0] : undefined;
}
