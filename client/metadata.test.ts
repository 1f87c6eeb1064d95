import assert from 'node:assert/strict';
import { readMetadata } from './metadata.ts';
import { ReplicationError } from './replication-error.ts';
import { rankResources } from './resource-order.ts';
import { METADATA } from './testing/odd-source.ts';

describe('reading $metadata', () => {
  const { resources } = readMetadata(METADATA);

  it('finds keys and types through prefixes, aliases, base types, definitions and enumerations', () => {
    const property = resources.get('Property');
    assert.deepEqual(property?.key, { name: 'ListingKey', type: 'Edm.String' });
    const types = Object.fromEntries(property?.fields.map(({ name, type }) => [name, type]) ?? []);
    assert.equal(types.ListPrice, 'Edm.Decimal');
    assert.equal(types.StandardStatus, 'Edm.String');
    assert.equal(types.Appliances, 'json');
    assert.equal(types.ModificationTimestamp, 'Edm.DateTimeOffset');
    assert.deepEqual(resources.get('Numbered')?.key, { name: 'NumberedKey', type: 'Edm.Int64' });
    assert.ok(!resources.has('NotThis'));
  });

  it('finds parents by collections and by referential constraints', () => {
    assert.deepEqual(resources.get('Media')?.parents, ['Property']);
    assert.deepEqual(resources.get('Member')?.parents, ['Office']);
    assert.deepEqual(resources.get('Property')?.parents, []);
  });

  it('knows no single key where there are two', () => {
    const xml = `<s:Schema Namespace='N'><s:EntityType Name='T'><s:Key><s:PropertyRef Name='A'/><s:PropertyRef Name='B'/></s:Key>
      <s:Property Name='A' Type='Edm.String'/><s:Property Name='B' Type='Edm.String'/></s:EntityType>
      <s:EntityContainer Name='C'><s:EntitySet Name='Set&#x31;' EntityType='N.T'/></s:EntityContainer></s:Schema>`;
    assert.equal(readMetadata(xml).resources.get('Set1')?.key, undefined);
  });

  it('refuses what is no CSDL or is broken', () => {
    for (const xml of ['', '<html></html>', '{"value":[]}', '<EntitySet Name="X" EntityType="N.Missing"/>']) {
      assert.throws(
        () => readMetadata(xml),
        error => error instanceof ReplicationError && error.code === 'metadata',
      );
    }
  });
});

describe('ranking resources', () => {
  it('puts parents before children, and cuts circles', () => {
    const ranks = rankResources(
      new Map([
        ['Media', ['Property']],
        ['Property', ['Member', 'Office']],
        ['Member', ['Office']],
        ['Office', ['Member']],
        ['Self', ['Self']],
      ]),
    );
    const rank = (name: string) => ranks.get(name) ?? assert.fail(name);
    assert.ok(
      rank('Property') < rank('Media') &&
        rank('Member') < rank('Property') &&
        rank('Office') < rank('Property'),
    );
    assert.equal(new Set(ranks.values()).size, 5);
  });
});
