import type { EntityPage, EntityRow, ShapePlan } from '../edm/entity-set.ts';
import { type EntityType, typeName } from '../edm/index.ts';
import type { Format } from './negotiate.ts';

/** What stands around the rows of a collection. */
export interface CollectionEnvelope {
  readonly contextUrl: string;
  readonly nextLink?: string;
  readonly deltaLink?: string;
  /** Instance annotations of ours, such as the head; names without the `@`. */
  readonly annotations: Readonly<Record<string, bigint | number>>;
}

/** Adds to one row what its metadata level asks for: id, type, etag. */
export type Decorate = (row: EntityRow) => string;

/**
 * Writes a collection (JSON Format 12). Rows are JSON text already; numbers are written from bigint, never through a
 * double, and as strings where IEEE754Compatible asks.
 */
export function collectionBody(
  page: EntityPage,
  envelope: CollectionEnvelope,
  format: Format,
  decorate: Decorate,
): string {
  const { prefix } = format;
  const members: string[] = [];
  if (format.metadata !== 'none') members.push(`"${prefix}context":${JSON.stringify(envelope.contextUrl)}`);
  if (page.count !== undefined) members.push(`"${prefix}count":${int64(page.count, format)}`);
  for (const [name, value] of Object.entries(envelope.annotations)) {
    members.push(`"@${name}":${typeof value === 'bigint' ? int64(value, format) : value}`);
  }
  members.push(`"value":[${page.rows.map(decorate).join(',')}]`);
  if (envelope.nextLink !== undefined)
    members.push(`"${prefix}nextLink":${JSON.stringify(envelope.nextLink)}`);
  if (envelope.deltaLink !== undefined)
    members.push(`"${prefix}deltaLink":${JSON.stringify(envelope.deltaLink)}`);
  return `{${members.join(',')}}`;
}

/** Writes one entity at top level (JSON Format 6). */
export function entityBody(row: EntityRow, contextUrl: string, format: Format, decorate: Decorate): string {
  const context = format.metadata === 'none' ? '' : `"${format.prefix}context":${JSON.stringify(contextUrl)}`;
  return splice(context, decorate(row));
}

/**
 * What `metadata=minimal` and `full` add to each row; `none` adds nothing (JSON Format 4.5). The id is there in full,
 * and in minimal where a part of the key was not selected and nothing else would tell the entity.
 */
export function decorator(
  format: Format,
  type: EntityType,
  shape: ShapePlan,
  readUrl: (key: readonly string[]) => string,
): Decorate {
  if (format.metadata === 'none') return row => row.json;
  const { prefix } = format;
  const full = format.metadata === 'full';
  const keyOmitted = type.key.some(name => shape.select?.includes(name) === false);
  const types = full ? [`"${prefix}type":"#${type.qualifiedName}"`] : [];
  const propertyTypes = full ? statedTypes(type, shape, prefix) : [];
  return row => {
    const id = full || keyOmitted ? [`"${prefix}id":${JSON.stringify(readUrl(row.key))}`] : [];
    const etag = row.etag === undefined ? [] : [`"${prefix}etag":${JSON.stringify(row.etag)}`];
    return splice([...types, ...id, ...etag, ...propertyTypes].join(','), row.json);
  };
}

/** The type of each property that its JSON value does not tell (JSON Format 4.6.3). */
function statedTypes(type: EntityType, shape: ShapePlan, prefix: string): string[] {
  const told = ['Edm.String', 'Edm.Boolean', 'Edm.Double'];
  return (
    type.properties
      .filter(({ name }) => shape.select?.includes(name) ?? true)
      .filter(property => !told.includes(property.type.kind === 'collection' ? '' : property.type.name))
      // An annotation must not stand alone where a null was left out.
      .filter(({ nullable }) => !(nullable && shape.omitNulls))
      .map(({ name, type: stated }) => `"${name}${prefix}type":"#${shortName(typeName(stated))}"`)
  );
}

function shortName(name: string): string {
  return name.replace(/Edm\./, '');
}

/** Puts members in front of those of a JSON object. */
function splice(members: string, json: string): string {
  if (members === '') return json;
  return json === '{}' ? `{${members}}` : `{${members},${json.slice(1)}`;
}

function int64(value: bigint, format: Format): string {
  return format.ieee754 ? `"${value}"` : value.toString();
}
