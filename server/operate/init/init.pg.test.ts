import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atTestEnd } from '../../../testing/cleanup.ts';
import { openSession } from '../../../testing/gates.ts';
import { testDatabase } from '../../../testing/postgres.ts';
import { loadConfig, type ResourceConfig, rankResources } from '../../base/config/index.ts';
import { connect, quoteTable } from '../../base/db/index.ts';
import type { Guess } from './guess-resources.ts';
import { guessFromCatalog, writeConfig } from './init.ts';

/** What is guessed from a database with this DDL. */
async function guess(ddl: string): Promise<Guess> {
  const { url, drop } = await testDatabase();
  const provider = await openSession(url, 'provider');
  await provider.run(ddl);
  const db = await connect({ databaseUrl: url, dataDir: '' });
  atTestEnd(async () => {
    await db.close();
    await provider.close();
    await drop();
  });
  return guessFromCatalog(db);
}

function named(found: Guess, name: string): ResourceConfig {
  return found.resources.find(resource => resource.name === name) ?? assert.fail(`${name} was not guessed`);
}

const standard = `
  create table office ("OfficeKey" text primary key, "MainOfficeKey" text, "OfficeBrokerKey" text,
    "ModificationTimestamp" timestamptz);
  create table member ("MemberKey" text primary key, "OfficeKey" text, "ModificationTimestamp" timestamptz);
  create table property ("ListingKey" text primary key, "ListOfficeKey" text, "ListAgentKey" text,
    "BuyerAgentKey" text, "ModificationTimestamp" timestamptz);
  create table media ("MediaKey" text primary key, "ResourceName" text, "ResourceRecordKey" text,
    "MediaModificationTimestamp" timestamptz);
  create table open_house ("OpenHouseKey" text primary key, "ListingKey" text, "ModificationTimestamp" timestamptz);
  create table showing ("ShowingKey" text primary key, "ListingKey" text, "UpdatedAt" timestamptz)`;

describe('init', () => {
  it('guesses the standard resources, their keys, times and parents', async () => {
    const found = await guess(standard);
    assert.deepEqual(found.resources, [
      {
        name: 'Property',
        table: 'public.property',
        key: 'ListingKey',
        modified: 'ModificationTimestamp',
        parents: [
          { resource: 'Office', column: 'ListOfficeKey' },
          { resource: 'Member', column: 'ListAgentKey' },
        ],
      },
      {
        name: 'Member',
        table: 'public.member',
        key: 'MemberKey',
        modified: 'ModificationTimestamp',
        parents: [{ resource: 'Office', column: 'OfficeKey' }],
      },
      {
        name: 'Office',
        table: 'public.office',
        key: 'OfficeKey',
        modified: 'ModificationTimestamp',
        parents: [{ resource: 'Office', column: 'MainOfficeKey' }],
      },
      {
        name: 'Media',
        table: 'public.media',
        key: 'MediaKey',
        modified: 'MediaModificationTimestamp',
        parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
      },
      {
        name: 'OpenHouse',
        table: 'public.open_house',
        key: 'OpenHouseKey',
        modified: 'ModificationTimestamp',
        parents: [{ resource: 'Property', column: 'ListingKey' }],
      },
      {
        name: 'Showing',
        table: 'public.showing',
        key: 'ShowingKey',
        modified: 'UpdatedAt',
        parents: [{ resource: 'Property', column: 'ListingKey' }],
      },
    ]);
  });

  it('leaves the weaker of two parents out where they form a cycle, and says so', async () => {
    const found = await guess(standard);
    assert.equal(rankResources(found.resources).cycle, undefined);
    assert.match(found.leftOut.join('\n'), /Office\.OfficeBrokerKey as a parent Member would close a cycle/);
  });

  it('reads snake_case and other table names', async () => {
    const found = await guess(`
      create schema mls;
      create table mls.agents (member_key bigint primary key, office_key bigint, updated_at timestamp);
      create table mls.offices (office_key bigint primary key, modification_timestamp timestamptz);
      create table mls.listings (listing_key bigint primary key, list_office_key bigint, list_agent_key bigint,
        modification_timestamp timestamptz);
      create table mls.photos (id bigint primary key, listing_key bigint not null references mls.listings)`);
    assert.deepEqual(
      found.resources.map(({ name, table, key }) => [name, table, key]),
      [
        ['Property', 'mls.listings', 'listing_key'],
        ['Member', 'mls.agents', 'member_key'],
        ['Office', 'mls.offices', 'office_key'],
        ['Media', 'mls.photos', 'id'],
      ],
    );
    assert.deepEqual(named(found, 'Media').parents, [{ resource: 'Property', column: 'listing_key' }]);
    assert.equal(named(found, 'Member').modified, 'updated_at');
    assert.match(found.leftOut.join('\n'), /Media has no column that looks like the time/);
  });

  it('tells a reference to a resource from its key', async () => {
    const found = await guess(`
      create table openhouse (id serial primary key, "ListingKey" text);
      create table price_history (id serial primary key, "ListingKey" text);
      create table property ("ListingKey" text primary key)`);
    assert.deepEqual(
      found.resources.map(({ name, table, key }) => [name, table, key]),
      [
        ['Property', 'public.property', 'ListingKey'],
        ['OpenHouse', 'public.openhouse', 'id'],
      ],
    );
  });

  it('takes the parent that the rows of Media name, and says which others they name', async () => {
    const found = await guess(`${standard};
      insert into media ("MediaKey", "ResourceName", "ResourceRecordKey") values
        ('1', 'Member', 'M1'), ('2', 'Member', 'M2'), ('3', 'Property', 'K1'), ('4', 'Martian', 'X')`);
    assert.deepEqual(named(found, 'Media').parents, [{ resource: 'Member', column: 'ResourceRecordKey' }]);
    assert.match(found.leftOut.join('\n'), /Media\.ResourceRecordKey also names Property;/);
  });

  it('takes the better of two tables, and says which was left out and why', async () => {
    const found = await guess(`
      create table property ("ListingKey" text primary key);
      create table property_archive ("ListingKey" text primary key);
      create view listings as select * from property;
      create table members (a int, b int, primary key (a, b))`);
    assert.equal(named(found, 'Property').table, 'public.property');
    const leftOut = found.leftOut.join('\n');
    assert.match(leftOut, /table public\.property_archive also looks like Property/);
    assert.match(leftOut, /table public\.listings also looks like Property/);
    assert.match(leftOut, /public\.members is called like Member, but has no key of a single column/);
  });

  it('passes partitions, tables of extensions and those of Pulsefeed over', async () => {
    const found = await guess(`
      create schema pulsefeed; create table pulsefeed.member ("MemberKey" text primary key);
      create table property ("ListingKey" text primary key) partition by hash ("ListingKey");
      create table listing partition of property for values with (modulus 1, remainder 0)`);
    assert.deepEqual(
      found.resources.map(({ table }) => table),
      ['public.property'],
    );
    assert.deepEqual(
      found.leftOut.filter(line => line.includes('listing')),
      [],
    );
  });

  it('says that a column is no time when it is none', async () => {
    const found = await guess(
      `create table property ("ListingKey" text primary key, "ModificationTimestamp" text)`,
    );
    assert.equal(named(found, 'Property').modified, undefined);
    assert.match(found.leftOut.join('\n'), /ModificationTimestamp is of type text, not a time/);
  });

  it('guesses parents from foreign keys that are never null, and mentions the others', async () => {
    const found = await guess(`
      create table office (id int primary key);
      create table member (id int primary key, works_at int not null references office, boss int references member);
      create table property (id int primary key, sold_by int references office)`);
    assert.deepEqual(named(found, 'Member').parents, [{ resource: 'Office', column: 'works_at' }]);
    assert.equal(named(found, 'Property').parents, undefined);
    assert.match(found.leftOut.join('\n'), /Property\.sold_by refers to Office and may be null/);
  });

  it('writes names that need quoting so that they can be read again', async () => {
    const found = await guess(
      `create schema "my.mls"; create table "my.mls"."Property" ("ListingKey" text primary key)`,
    );
    assert.equal(found.resources[0]?.table, '"my.mls".Property');
    assert.equal(quoteTable(found.resources[0]?.table ?? ''), '"my.mls"."Property"');
  });

  it('guesses nothing in an empty database', async () => {
    assert.deepEqual((await guess('select 1')).resources, []);
  });
});

describe('the file that init writes', () => {
  const property: Guess = {
    resources: [{ name: 'Property', table: 'p', key: 'k' }],
    reasons: [],
    leftOut: [],
  };

  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'pulsefeed-init-'));
    atTestEnd(() => rm(path, { recursive: true }));
    return path;
  }

  it('is a valid configuration', async () => {
    const cwd = await folder();
    await writeConfig(join(cwd, 'pulsefeed.config.json'), property, false);
    const { resources } = await loadConfig({ env: {}, cwd });
    assert.deepEqual(resources, property.resources);
  });

  it('does not replace another unless forced, and keeps its settings then', async () => {
    const path = join(await folder(), 'pulsefeed.config.json');
    await writeFile(path, '{ "port": 9999, "resources": [] }');
    await assert.rejects(writeConfig(path, property, false), { code: 'EE-700' });
    assert.match(await readFile(path, 'utf8'), /"resources": \[\]/);
    await writeConfig(path, property, true);
    assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), { port: 9999, resources: property.resources });
  });
});
