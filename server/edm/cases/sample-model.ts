import {
  type ComplexType,
  defineEntityType,
  defineModel,
  type EntityType,
  type EnumType,
  type NavigationProperty,
  type PrimitiveName,
  type Property,
  type PropertyType,
  primitive,
} from '../model.ts';

/** A model with a property of every kind, for the tests of this folder. */
const color: EnumType = {
  kind: 'enum',
  name: 'Sample.Color',
  flags: false,
  storage: 'name',
  members: [
    { name: 'Red', value: 0n },
    { name: 'Green', value: 1n },
    { name: 'Blue', value: 2n },
  ],
};

const style: EnumType = {
  kind: 'enum',
  name: 'Sample.Style',
  flags: true,
  storage: 'value',
  members: [
    { name: 'Plain', value: 1n },
    { name: 'Striped', value: 2n },
    { name: 'Dotted', value: 4n },
  ],
};

function property(
  name: string,
  type: PropertyType | PrimitiveName,
  column: string,
  nullable = true,
): Property {
  return { name, type: typeof type === 'string' ? primitive(type) : type, nullable, column };
}

const address: ComplexType = {
  kind: 'complex',
  name: 'Sample.Address',
  properties: [
    property('Street', 'Edm.String', 'street'),
    property('Zip', 'Edm.Int32', 'zip'),
    property('Known', 'Edm.Boolean', 'known'),
  ],
};

function relation(
  name: string,
  target: string,
  collection: boolean,
  own: string,
  other: string,
): NavigationProperty {
  return { name, target, collection, nullable: true, join: [{ own, target: other }] };
}

/** The root type of most tests. */
export const thing: EntityType = defineEntityType({
  namespace: 'Sample',
  name: 'Thing',
  key: ['Id'],
  table: { name: 'thing' },
  properties: [
    property('Id', 'Edm.Int64', 'id', false),
    property('Small', 'Edm.Int16', 'small'),
    property('Count', 'Edm.Int32', 'count'),
    property('Big', 'Edm.Int64', 'big'),
    property('Price', 'Edm.Decimal', 'price'),
    property('Rate', 'Edm.Decimal', 'rate'),
    property('Lat', 'Edm.Double', 'lat'),
    property('Short', 'Edm.Single', 'short'),
    property('Name', 'Edm.String', 'name'),
    property('Code', 'Edm.String', 'code "quoted"', false),
    property('Flag', 'Edm.Boolean', 'flag'),
    property('Sure', 'Edm.Boolean', 'sure', false),
    property('Day', 'Edm.Date', 'day'),
    property('At', 'Edm.TimeOfDay', 'at'),
    property('Stamp', 'Edm.DateTimeOffset', 'stamp'),
    property('Made', 'Edm.DateTimeOffset', 'made', false),
    property('Span', 'Edm.Duration', 'span'),
    property('Uid', 'Edm.Guid', 'uid'),
    property('Bytes', 'Edm.Binary', 'bytes'),
    property('Tags', { kind: 'collection', of: primitive('Edm.String') }, 'tags'),
    property('Sizes', { kind: 'collection', of: primitive('Edm.Int64') }, 'sizes'),
    property('Color', color, 'color'),
    property('Style', style, 'style'),
    property('Address', address, 'address'),
    {
      name: 'Upper',
      type: primitive('Edm.String'),
      nullable: true,
      column: alias => `upper(${alias}."name" collate "default")`,
    },
  ],
  navigation: [
    relation('Parts', 'Sample.Part', true, 'id', 'thing_id'),
    relation('Owner', 'Sample.Owner', false, 'owner_id', 'id'),
  ],
});

const part = defineEntityType({
  namespace: 'Sample',
  name: 'Part',
  key: ['Id'],
  table: { schema: 'public', name: 'part' },
  properties: [
    property('Id', 'Edm.Int64', 'id', false),
    property('Label', 'Edm.String', 'label'),
    property('Weight', 'Edm.Decimal', 'weight'),
    property('Ready', 'Edm.Boolean', 'ready'),
    property('Shown', 'Edm.Boolean', 'shown', false),
    property('Marks', { kind: 'collection', of: primitive('Edm.String') }, 'marks'),
  ],
  navigation: [relation('Maker', 'Sample.Owner', false, 'maker_id', 'id')],
});

const owner = defineEntityType({
  namespace: 'Sample',
  name: 'Owner',
  key: ['Id'],
  table: { name: 'owner' },
  properties: [
    property('Id', 'Edm.Int64', 'id', false),
    property('Name', 'Edm.String', 'name'),
    property('Rank', 'Edm.Int32', 'rank'),
    property('Shown', 'Edm.Boolean', 'shown', false),
  ],
  navigation: [relation('Made', 'Sample.Part', true, 'id', 'maker_id')],
});

/** The model of the tests. */
export const model = defineModel([thing, part, owner], [color, style]);

/** Tables for the model. */
export const tables = `
  create table owner (id bigint primary key, name text collate "POSIX", rank int, shown boolean not null);
  create table thing (
    id bigint primary key, small smallint, count int, big bigint, price numeric(12, 2), rate numeric, lat float8,
    short float4, name text collate "C", "code ""quoted""" varchar(80) collate "POSIX" not null, flag boolean, sure boolean not null, day date,
    at time, stamp timestamptz, made timestamptz not null, span interval, uid uuid, bytes bytea, tags text[],
    sizes bigint[], color text, style int, address jsonb, owner_id bigint
  );
  create table part (
    id bigint primary key, thing_id bigint, maker_id bigint, label text, weight numeric, ready boolean,
    shown boolean not null, marks text[]
  );
`;
