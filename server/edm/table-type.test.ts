import assert from 'node:assert/strict';
import type { Column, ResourceTable } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { entityTypesOf, ruleTypeOf } from './index.ts';

function table(
  config: Partial<ResourceConfig> & { name: string; key: string },
  columns: readonly string[],
): ResourceTable {
  const made = columns.map(
    (name): Column => ({
      name,
      type: 'text',
      baseType: 'text',
      notNull: false,
      maxLength: undefined,
      precision: undefined,
      scale: undefined,
      generated: false,
      hasDefault: false,
      collation: undefined,
    }),
  );
  const key = made.find(({ name }) => name === config.key);
  if (key === undefined) throw new Error('no key');
  const name = config.name.toLowerCase();
  return {
    config: { ...config, table: name },
    schema: 'public',
    name,
    quoted: `"public"."${name}"`,
    partitioned: false,
    versioned: true,
    columns: made,
    key,
  };
}

function faultsOf(tables: readonly ResourceTable[]): string[] {
  try {
    entityTypesOf(tables);
    return [];
  } catch (error) {
    assert.ok(error instanceof PulsefeedError);
    assert.equal(error.code, 'EE-705');
    return error.details.map(({ message }) => message);
  }
}

const names = (tables: readonly ResourceTable[]) =>
  entityTypesOf(tables).map(type => type.properties.map(({ name }) => name));
const relations = (tables: readonly ResourceTable[]) =>
  entityTypesOf(tables).map(type => type.navigation.map(({ name }) => name));

describe('tables as entity types', () => {
  it('gives columns their Data Dictionary names, unless two would have the same', () => {
    const property = table({ name: 'Property', key: 'listing_key' }, [
      'listing_key',
      'LISTPRICE',
      'City',
      'city',
      'street_name',
      'streetname',
      'own thing',
      '9th',
      'constructor',
    ]);
    assert.deepEqual(names([property]), [
      [
        'ListingKey',
        'ListPrice',
        'City',
        'city',
        'street_name',
        'streetname',
        'own_thing',
        '_9th',
        'constructor',
      ],
    ]);
    const custom = table({ name: 'Custom', key: 'list_price' }, ['list_price']);
    assert.deepEqual(names([custom]), [['list_price']]);
  });

  it('renames and hides what the configuration says, and keeps all of it for rules', () => {
    const fields = { list_price: 'Price', secret: false } as const;
    const property = table({ name: 'Property', key: 'listing_key', fields }, [
      'listing_key',
      'list_price',
      'secret',
    ]);
    assert.deepEqual(names([property]), [['ListingKey', 'Price']]);
    const known = ruleTypeOf(property).properties.map(({ name }) => name);
    assert.deepEqual(known, ['ListingKey', 'Price', 'listing_key', 'list_price', 'secret']);
  });

  it('lists every fault of the configuration at once', () => {
    const fields = { nothing: 'A', listing_key: false, city: 'Same', street_name: 'Same' } as const;
    const parents = [{ resource: 'Office', column: 'city', as: 'Same' }];
    const property = table({ name: 'Property', key: 'listing_key', fields, parents }, [
      'listing_key',
      'city',
      'street_name',
    ]);
    const office = table({ name: 'Office', key: 'OfficeKey' }, ['OfficeKey']);
    const faults = faultsOf([property, office]);
    assert.deepEqual(faults, [
      'resource Property: fields names nothing, which table property does not have',
      'resource Property: the key listing_key cannot be hidden',
      'resource Property: the columns city and street_name would both be served as Same',
      'resource Property: the relation Same has the name of something else there',
    ]);
  });

  it('names relations by column and resource, and tells those that would have one name apart', () => {
    const office = table(
      { name: 'Office', key: 'OfficeKey', parents: [{ resource: 'Office', column: 'MainOfficeKey' }] },
      ['OfficeKey', 'MainOfficeKey'],
    );
    const property = table(
      {
        name: 'Property',
        key: 'ListingKey',
        parents: [
          { resource: 'Office', column: 'ListOfficeKey' },
          { resource: 'Office', column: 'BuyerOfficeKey' },
        ],
      },
      ['ListingKey', 'ListOfficeKey', 'BuyerOfficeKey', 'BuyerOffice'],
    );
    const media = table(
      {
        name: 'Media',
        key: 'MediaKey',
        parents: [
          { resource: 'Property', column: 'ResourceRecordKey' },
          { resource: 'Office', column: 'OfficeKey' },
        ],
      },
      ['MediaKey', 'ResourceRecordKey', 'OfficeKey'],
    );
    assert.deepEqual(relations([office, property, media]), [
      ['MainOffice', 'OfficeByMainOffice', 'Property', 'PropertyByBuyerOffice', 'Media'],
      ['ListOffice', 'BuyerOfficeByBuyerOfficeKey', 'Media'],
      ['Property', 'Office'],
    ]);
  });
});
