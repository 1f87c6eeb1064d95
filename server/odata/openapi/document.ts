import type { EntitySet } from '../../edm/entity-set.ts';
import type { Json } from './json.ts';
import { collectionParameters, entityParameters, parameters } from './parameters.ts';
import { entitySchema, keySchema, shared } from './schemas.ts';

/**
 * The service as OpenAPI 3.1, written from the same model as `$metadata` (made by hand: the OASIS converter yields 3.0,
 * knows neither our errors nor our preferences, and brings its own licence).
 */
export function openApiDocument(sets: readonly EntitySet[], root: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pulsefeed',
      version: '1.0.0',
      description:
        'A RESO EntityEvent feed and the records it names, over OData 4.01. Each event says that a record is new, ' +
        'changed or gone; the last EntityEventSequence read is all that a client needs to remember.',
    },
    servers: [{ url: root }],
    security: [{}, { bearer: [] }],
    tags: sets.map(({ name }) => ({ name })),
    paths: Object.assign({}, servicePaths, ...sets.map(setPaths)) as Json,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      parameters,
      responses: {
        error: {
          description: 'Refused. The code is one of the registry of errors.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/error' } } },
        },
      },
      schemas: {
        ...shared,
        ...Object.fromEntries(sets.map(({ type }) => [type.qualifiedName, entitySchema(type)])),
      },
    },
  };
}

const failed = { '4XX': { $ref: '#/components/responses/error' } };

function ok(description: string, type: string, schema: Json): Json {
  return { '200': { description, content: { [type]: { schema } } }, ...failed };
}

function setPaths(set: EntitySet): Json {
  const { name, type } = set;
  const entity = { $ref: `#/components/schemas/${type.qualifiedName}` };
  const tags = [name];
  const page = ok('One page.', 'application/json', pageSchema(entity));
  const keys = type.key.map(key => ({
    name: key,
    in: 'path',
    required: true,
    description: 'A text is put in single quotes, each quote within it doubled.',
    schema: keySchema(type, key),
  }));
  const template =
    type.key.length === 1 ? `{${type.key[0]}}` : type.key.map(key => `${key}={${key}}`).join(',');
  return {
    [`/${name}`]: {
      get: {
        tags,
        operationId: `list${name}`,
        summary: `Read ${name} page by page`,
        parameters: refs(collectionParameters),
        responses: page,
      },
      ...(set.writable ? { post: createOperation(name, entity) } : {}),
    },
    [`/${name}/$count`]: {
      get: {
        tags,
        operationId: `count${name}`,
        summary: `Count ${name}`,
        parameters: refs(['filter']),
        responses: ok('The number, as digits.', 'text/plain', { type: 'integer', minimum: 0 }),
      },
    },
    [`/${name}/$query`]: {
      post: {
        tags,
        operationId: `query${name}`,
        summary: `Read ${name} with options too long for a URL`,
        parameters: refs(['prefer']),
        requestBody: {
          required: true,
          content: { 'text/plain': { schema: { type: 'string', examples: ['$filter=...&$top=10'] } } },
        },
        responses: page,
      },
    },
    [`/${name}(${template})`]: {
      parameters: keys,
      get: {
        tags,
        operationId: `get${name}`,
        summary: `Read one ${name}`,
        parameters: refs(entityParameters),
        responses: {
          ...(ok('The entity.', 'application/json', entity) as object),
          '304': { description: 'It is as If-None-Match says.' },
        },
      },
      ...(set.writable ? changeOperations(name, entity) : {}),
    },
  };
}

function createOperation(name: string, entity: Json): Json {
  return {
    tags: [name],
    operationId: `create${name}`,
    summary: `Add one ${name}`,
    parameters: refs(['prefer']),
    requestBody: jsonBody(entity),
    responses: {
      '201': { description: 'Made.', content: { 'application/json': { schema: entity } } },
      ...failed,
    },
  };
}

function changeOperations(name: string, entity: Json): { readonly [method: string]: Json } {
  const change = (verb: string, summary: string): Json => ({
    tags: [name],
    operationId: `${verb}${name}`,
    summary: `${summary} one ${name}`,
    parameters: refs(['prefer', 'ifMatch']),
    ...(verb === 'delete' ? {} : { requestBody: jsonBody(entity) }),
    responses: { '204': { description: 'Done.' }, ...failed },
  });
  return {
    patch: change('update', 'Change members of'),
    put: change('replace', 'Replace'),
    delete: change('delete', 'Remove'),
  };
}

function jsonBody(schema: Json): Json {
  return { required: true, content: { 'application/json': { schema } } };
}

function pageSchema(entity: Json): Json {
  return {
    type: 'object',
    required: ['value'],
    properties: {
      '@odata.context': { type: 'string', format: 'uri' },
      '@odata.count': { $ref: '#/components/schemas/count' },
      value: { type: 'array', items: entity },
      '@odata.nextLink': { type: 'string', format: 'uri', description: 'There when more is owed.' },
      '@odata.deltaLink': { type: 'string', format: 'uri', description: 'Reads what comes later.' },
    },
  };
}

function refs(names: readonly string[]): Json {
  return names.map(name => ({ $ref: `#/components/parameters/${name}` }));
}

const servicePaths: Json = {
  '/': {
    get: {
      operationId: 'getServiceDocument',
      summary: 'List the entity sets',
      responses: ok('The service document.', 'application/json', { type: 'object' }),
    },
  },
  '/$metadata': {
    get: {
      operationId: 'getMetadata',
      summary: 'Read the model',
      responses: {
        '200': {
          description: 'The model as CSDL.',
          content: {
            'application/xml': { schema: { type: 'string' } },
            'application/json': { schema: { type: 'object' } },
          },
        },
        ...failed,
      },
    },
  },
  '/$batch': {
    post: {
      operationId: 'batch',
      summary: 'Send several requests in one',
      parameters: refs(['prefer']),
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/batchRequest' } },
          'multipart/mixed': { schema: { type: 'string' } },
        },
      },
      responses: ok('The answers.', 'application/json', { $ref: '#/components/schemas/batchResponse' }),
    },
  },
};
