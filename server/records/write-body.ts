import type { Column } from '../base/catalog/index.ts';
import { type ErrorDetail, PulsefeedError } from '../base/errors.ts';
import {
  arraySlices,
  castText,
  ExpressionError,
  isNavigation,
  objectSlices,
  type Property,
  type ScalarType,
} from '../edm/index.ts';
import type { RecordResource } from './schema.ts';
import { fieldColumns } from './write-columns.ts';

/** A field that is to be written, with the column that holds it. */
export interface WrittenField {
  readonly property: Property;
  readonly column: Column;
  readonly isNull: boolean;
}

/** What a body asks for. */
export interface WriteBody {
  readonly fields: readonly WrittenField[];
  /** The key as text, where the body has one. */
  readonly key: string | undefined;
}

/** How the body is used: a new record, one that is set anew, some fields of one. */
export type WriteKind = 'create' | 'replace' | 'change';

/**
 * Checks the members of a body against the fields of the resource; nothing of it reaches the database unless all hold.
 * Annotations (members with `@`) are read over.
 * @throws EE-114 with one detail for each member that is wrong.
 */
export function readWriteBody(resource: RecordResource, body: string, kind: WriteKind): WriteBody {
  const members = parseObject(body);
  // A number's own digits: JavaScript's would round an Int64.
  const raw = objectSlices(body);
  const { type } = resource;
  const [keyName = ''] = type.key;
  const details: ErrorDetail[] = [];
  const fault = (target: string, message: string) => details.push({ code: 'EE-114', target, message });
  const columns = fieldColumns(resource);
  const fields: WrittenField[] = [];
  for (const [name, value] of Object.entries(members)) {
    if (name.includes('@')) continue;
    const property = type.members.get(name);
    const column = columns.get(name);
    if (property === undefined || isNavigation(property) || column === undefined) {
      fault(name, `${type.name} has no field ${name} that can be written.`);
      continue;
    }
    if (column.generated && name !== keyName) continue;
    const wrong = valueFault(property, value, raw.get(name) ?? '');
    if (wrong !== undefined) fault(name, wrong);
    else fields.push({ property, column, isNull: value === null });
  }
  if (kind !== 'change') {
    for (const name of missingFields(resource, members, columns)) fault(name, `${name} is required.`);
  }
  if (details.length > 0) {
    throw new PulsefeedError('EE-114', details.map(({ message }) => message).join(' '), { details });
  }
  const key = members[keyName];
  return {
    fields,
    key: typeof key === 'number' ? raw.get(keyName) : key === undefined ? undefined : String(key),
  };
}

function parseObject(body: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (error) {
    throw new PulsefeedError('EE-114', 'The body is not JSON.', { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new PulsefeedError('EE-114', 'The body is not a JSON object.');
  }
  return parsed as Record<string, unknown>;
}

function missingFields(
  { type }: RecordResource,
  members: Record<string, unknown>,
  columns: ReadonlyMap<string, Column>,
): string[] {
  return type.properties
    .filter(({ name, nullable }) => !nullable && !type.key.includes(name) && !Object.hasOwn(members, name))
    .filter(({ name }) => {
      const column = columns.get(name);
      return column?.notNull === true && !column.hasDefault && !column.generated;
    })
    .map(({ name }) => name);
}

/** What is wrong with the value, or undefined. */
function valueFault(property: Property, value: unknown, raw: string): string | undefined {
  const { name, type } = property;
  if (type.kind === 'collection') {
    if (type.of.kind === 'complex') return `${name} cannot be written.`;
    if (!Array.isArray(value)) return `${name} is a collection.`;
    const item = type.of;
    const slices = arraySlices(raw);
    return value
      .map((one, index) => scalarFault(property, item, one, slices[index] ?? ''))
      .find(wrong => wrong !== undefined);
  }
  if (type.kind === 'complex') return `${name} cannot be written.`;
  if (value === null) return property.nullable ? undefined : `${name} cannot be null.`;
  return scalarFault(property, type, value, raw);
}

function scalarFault(property: Property, type: ScalarType, value: unknown, raw: string): string | undefined {
  const { name } = property;
  const expected = `${name} takes ${type.name}.`;
  switch (type.name) {
    case 'Edm.String':
      return typeof value === 'string' ? textFault(property, value) : expected;
    case 'Edm.Boolean':
      return typeof value === 'boolean' ? undefined : expected;
    case 'Edm.Double':
    case 'Edm.Single':
      return typeof value === 'number' || isFloatText(value) ? undefined : expected;
    case 'Edm.Binary':
      return typeof value === 'string' && /^[A-Za-z0-9_-]*={0,2}$/.test(value) ? undefined : expected;
    case 'Edm.Int16':
    case 'Edm.Int32':
      return typeof value === 'number' && isLiteral(raw, type) ? undefined : expected;
    case 'Edm.Int64':
    case 'Edm.Decimal': {
      const text = typeof value === 'number' ? raw : typeof value === 'string' ? value : '';
      return isLiteral(text, type) ? digitsFault(property, text) : expected;
    }
    default:
      return typeof value === 'string' && isLiteral(value, type) ? undefined : expected;
  }
}

function textFault({ name, maxLength }: Property, text: string): string | undefined {
  if (/[\0\p{Cs}]/u.test(text)) return `${name} holds a character that cannot be stored.`;
  const length = [...text].length;
  return maxLength === undefined || length <= maxLength
    ? undefined
    : `${name} has ${length} characters; it takes ${maxLength}.`;
}

/** Digits before and behind the point, as far as the column states them. */
function digitsFault({ name, precision, scale }: Property, text: string): string | undefined {
  if (precision === undefined || typeof scale !== 'number' || /e/i.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.replace(/^[+-]/, '').split('.');
  const fits =
    whole.replace(/^0+/, '').length <= precision - scale && fraction.replace(/0+$/, '').length <= scale;
  return fits ? undefined : `${name} takes ${precision} digits, ${scale} of them behind the point.`;
}

function isFloatText(value: unknown): boolean {
  return value === 'INF' || value === '-INF' || value === 'NaN';
}

function isLiteral(text: string, type: ScalarType): boolean {
  try {
    castText(text, type, 0);
    return true;
  } catch (error) {
    if (error instanceof ExpressionError) return false;
    throw error;
  }
}
