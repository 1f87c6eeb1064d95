import type { EntityType, Property, PropertyType } from '../../edm/index.ts';
import { isNavigation } from '../../edm/index.ts';
import type { Json } from './json.ts';

/** An entity type as JSON Schema 2020-12. */
export function entitySchema(type: EntityType): Json {
  return {
    type: 'object',
    properties: Object.fromEntries(
      type.properties.map(property => [property.name, propertySchema(property)]),
    ),
  };
}

/** The schema of a key property within a URL. */
export function keySchema(type: EntityType, key: string): Json {
  const member = type.members.get(key);
  return member === undefined || isNavigation(member) ? { type: 'string' } : typeSchema(member.type);
}

function propertySchema(property: Property): Json {
  const schema = typeSchema(property.type);
  const length = property.maxLength === undefined ? {} : { maxLength: property.maxLength };
  if (!property.nullable || Array.isArray(schema) || typeof schema !== 'object' || schema === null) {
    return { ...(schema as object), ...length };
  }
  const { type } = schema as { type?: Json };
  return type === undefined
    ? { anyOf: [schema, { type: 'null' }] }
    : {
        ...(schema as object),
        type: [...(Array.isArray(type) ? (type as Json[]) : [type]), 'null'],
        ...length,
      };
}

/** How a value is written in JSON (JSON Format 7.1). */
function typeSchema(type: PropertyType): Json {
  switch (type.kind) {
    case 'collection':
      return { type: 'array', items: typeSchema(type.of) };
    case 'enum':
      return { type: 'string', enum: type.members.map(({ name }) => name) };
    case 'complex':
      return { type: 'object' };
    case 'primitive':
      return primitiveSchemas[type.name];
    default: {
      const never: never = type;
      return never;
    }
  }
}

const special: Json = { type: ['number', 'string'], description: 'A number, or INF, -INF or NaN as text.' };

const primitiveSchemas: Readonly<Record<Extract<PropertyType, { kind: 'primitive' }>['name'], Json>> = {
  'Edm.Binary': { type: 'string', contentEncoding: 'base64url' },
  'Edm.Boolean': { type: 'boolean' },
  'Edm.Date': { type: 'string', format: 'date' },
  'Edm.DateTimeOffset': { type: 'string', format: 'date-time' },
  'Edm.Decimal': { type: 'number' },
  'Edm.Double': special,
  'Edm.Duration': { type: 'string', format: 'duration' },
  'Edm.Guid': { type: 'string', format: 'uuid' },
  'Edm.Int16': { type: 'integer', format: 'int16' },
  'Edm.Int32': { type: 'integer', format: 'int32' },
  'Edm.Int64': { type: 'integer', format: 'int64' },
  'Edm.Single': special,
  'Edm.String': { type: 'string' },
  'Edm.TimeOfDay': { type: 'string', format: 'time' },
};

const text: Json = { type: 'string' };

/** Schemas that are the same for every service. */
export const shared: { readonly [name: string]: Json } = {
  count: { type: 'integer', format: 'int64', minimum: 0 },
  error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'string', pattern: '^EE-[0-9]{3}$' },
          message: text,
          target: text,
          details: {
            type: 'array',
            items: {
              type: 'object',
              required: ['code', 'message'],
              properties: { code: text, message: text, target: text },
            },
          },
        },
      },
    },
  },
  batchRequest: {
    type: 'object',
    required: ['requests'],
    properties: {
      requests: {
        type: 'array',
        maxItems: 100,
        items: {
          type: 'object',
          required: ['id', 'method', 'url'],
          properties: {
            id: text,
            method: text,
            url: text,
            headers: { type: 'object', additionalProperties: text },
            body: true,
            dependsOn: { type: 'array', items: text },
            atomicityGroup: text,
          },
        },
      },
    },
  },
  batchResponse: {
    type: 'object',
    required: ['responses'],
    properties: {
      responses: {
        type: 'array',
        items: {
          type: 'object',
          required: ['id', 'status'],
          properties: { id: text, status: { type: 'integer' }, headers: { type: 'object' }, body: true },
        },
      },
    },
  },
};
