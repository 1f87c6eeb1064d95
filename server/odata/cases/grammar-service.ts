import { anonymous } from '../../base/auth/viewer.ts';
import type { CollectionPlan, EntityRow, EntitySet, ShapePlan } from '../../edm/entity-set.ts';
import {
  bindFilter,
  type ComplexType,
  defineEntityType,
  type EntityType,
  type PrimitiveName,
  type Property,
  type PropertyType,
  parseExpression,
  primitive,
} from '../../edm/index.ts';
import { answerRequest } from '../entry.ts';
import type { ODataAnswer } from '../request.ts';
import { createService, type Service } from '../service.ts';
import { tokenCodec } from '../skip-token.ts';

const address: ComplexType = {
  kind: 'complex',
  name: 'Model.Address',
  properties: [property('Street', 'Edm.String'), property('Country', 'Edm.String')],
};

function property(name: string, type: PropertyType | PrimitiveName, nullable = true): Property {
  return { name, type: typeof type === 'string' ? primitive(type) : type, nullable, column: name };
}

function addresses(name: string): Property {
  return property(name, { kind: 'collection', of: address });
}

function texts(name: string): Property {
  return property(name, { kind: 'collection', of: primitive('Edm.String') });
}

function entityType(
  name: string,
  key: readonly Property[],
  properties: readonly Property[],
  relations: Readonly<Record<string, string>> = {},
): EntityType {
  return defineEntityType({
    namespace: 'Model',
    name,
    key: key.map(part => part.name),
    properties: [...key, ...properties],
    navigation: Object.entries(relations).map(([relation, target]) => ({
      name: relation,
      target: `Model.${target.replace('*', '')}`,
      collection: target.endsWith('*'),
      nullable: true,
      join: [],
    })),
    table: { name },
  });
}

/** The sets that the inputs of the standard's grammar tests name; their keys are of the type given. */
function typesOf(key: PrimitiveName): EntityType[] {
  const id = [property('ID', key, false)];
  return [
    entityType('Categories', id, [property('Name', 'Edm.String'), property('Address', address)], {
      Products: 'Products*',
    }),
    entityType(
      'Products',
      id,
      [
        property('Name', 'Edm.String'),
        property('Price', 'Edm.Decimal'),
        property('Age', 'Edm.Int32'),
        addresses('Addresses'),
        texts('Sizes'),
      ],
      { Supplier: 'Suppliers', Category: 'Categories', Items: 'OrderItems*' },
    ),
    entityType('Customers', id, [property('Address', address), addresses('Addresses')], {
      Orders: 'Orders*',
    }),
    entityType('Suppliers', id, [addresses('Addresses'), texts('EmailAddresses')]),
    entityType('Employees', id, [property('FirstName', 'Edm.String'), property('LastName', 'Edm.String')], {
      Manager: 'Employees',
      DirectReports: 'Employees*',
    }),
    entityType(
      'OrderItems',
      [property('OrderID', 'Edm.Int64', false), property('ItemID', 'Edm.String', false)],
      [],
    ),
    entityType('Orders', id, [property('Amount', 'Edm.Decimal')], { Items: 'OrderItems*' }),
    entityType('People', id, [property('Address', address), addresses('Addresses'), texts('EmailAddresses')]),
  ];
}

/** One row whatever is asked for: what is tested is how a request is read. */
function anyRow(type: EntityType, key: readonly string[], { select }: ShapePlan): EntityRow {
  const members = type.properties
    .filter(({ name }) => select?.includes(name) ?? true)
    .map(({ name }) => [name, name]);
  return { json: JSON.stringify(Object.fromEntries(members)), key, position: key };
}

function setOf(type: EntityType): EntitySet {
  const key = type.key.map(() => '1');
  return {
    name: type.name,
    type,
    writable: false,
    readPage: async (plan: CollectionPlan) => ({ rows: [anyRow(type, key, plan)], more: false }),
    readOne: async (asked, plan) => anyRow(type, asked, plan),
    count: async () => 1n,
    related: async () => bindFilter(parseExpression('true'), type),
  };
}

/** A service over the sets of the grammar's examples, whose keys are of one type. */
export function grammarService(key: PrimitiveName): Service {
  return createService({
    sets: typesOf(key).map(setOf),
    codec: tokenCodec('key'),
    pages: { standard: 100, most: 1000 },
    maxBodyBytes: 1_000_000,
    maxHeaderBytes: 65_536,
  });
}

/** What to ask; `root` is the service's own. */
export interface Asked {
  readonly root: string;
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
}

/** Asks as the connection would. @throws PulsefeedError when the request is refused. */
export function askGrammar(service: Service, asked: Asked): Promise<ODataAnswer> {
  const { headers = {}, method = 'GET', body, ...rest } = asked;
  return answerRequest(service, { ...rest, method, headers, body, viewer: anonymous }, () => {});
}
