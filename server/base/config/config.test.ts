import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { PulsefeedError } from '../errors.ts';
import { packageFile } from '../package-root.ts';
import { describeConfig, loadConfig, rankResources, type Setting, settings } from './index.ts';

/** Loads a file with this content. */
async function load(file: unknown, env: Record<string, string> = {}, flags: Record<string, unknown> = {}) {
  const folder = await temporaryFolder('config');
  await writeFile(
    join(folder.path, 'pulsefeed.config.json'),
    typeof file === 'string' ? file : JSON.stringify(file),
  );
  return loadConfig({ flags, env, cwd: folder.path });
}

describe('the configuration', () => {
  it('takes a flag before the environment, the environment before the file, the file before the default', async () => {
    const file = { resources: [], port: 1, pageSize: 2, host: 'in-file' };
    const config = await load(file, { PULSEFEED_PAGE_SIZE: '3', PORT: '4' }, { port: '5' });
    assert.equal(config.settings.port, 5);
    assert.equal(config.settings.pageSize, 3);
    assert.equal(config.settings.host, 'in-file');
    assert.equal(config.settings.maxPageSize, 10_000);
    assert.deepEqual(
      [config.origins.port, config.origins.pageSize, config.origins.host, config.origins.maxPageSize],
      ['flag', 'environment', 'file', 'default'],
    );
  });

  it('names every fault at once, by its place', async () => {
    const file = {
      resources: [
        { name: 'Property', table: 'p' },
        { name: 'Media', table: 'm', key: 'k', parents: [{ resource: 'Nothing', column: 'c' }], surplus: 1 },
      ],
    };
    await assert.rejects(load(file, { PORT: 'high', PULSEFEED_LOG_LEVEL: 'loud' }), (error: unknown) => {
      assert.ok(error instanceof PulsefeedError);
      assert.equal(error.code, 'EE-700');
      for (const part of [
        '/resources/0',
        'surplus',
        'PORT: expected an integer',
        'PULSEFEED_LOG_LEVEL: expected one of',
      ]) {
        assert.ok(error.message.includes(part), `${part} in ${error.message}`);
      }
      return true;
    });
  });

  it('refuses a cycle of parents and a parent that is not configured, but not a resource that is its own parent', async () => {
    const resource = (name: string, ...parents: string[]) => ({
      name,
      table: name,
      key: 'k',
      parents: parents.map(parent => ({ resource: parent, column: 'c' })),
    });
    await assert.rejects(load({ resources: [resource('A', 'B'), resource('B', 'A')] }), /cycle: A -> B -> A/);
    await assert.rejects(load({ resources: [resource('A', 'B')] }), /parent B is not a configured resource/);
    await load({ resources: [resource('A', 'A')] });
  });

  it('ranks parents before children over the longest path', () => {
    const { level, rank } = rankResources([
      { name: 'Media', parents: [{ resource: 'Property', column: 'c' }] },
      {
        name: 'Property',
        parents: [
          { resource: 'Member', column: 'c' },
          { resource: 'Office', column: 'c' },
        ],
      },
      { name: 'Member', parents: [{ resource: 'Office', column: 'c' }] },
      { name: 'Office' },
    ]);
    assert.deepEqual(Object.fromEntries(level), { Media: 3, Property: 2, Member: 1, Office: 0 });
    assert.deepEqual([...rank.keys()], ['Office', 'Member', 'Property', 'Media']);
  });

  it('says when the file cannot be read or is no JSON, and when a named one is missing', async () => {
    await assert.rejects(load('{'), /pulsefeed\.config\.json/);
    await assert.rejects(
      loadConfig({ env: { PULSEFEED_CONFIG: 'nowhere.json' }, cwd: '/' }),
      /does not exist/,
    );
  });

  it('prints no secret, neither set ones nor faulty ones', async () => {
    const secret = 'postgres://user:hunter2@db/mls';
    const config = await load({ resources: [] }, { DATABASE_URL: secret, PULSEFEED_ADMIN_TOKEN: 'hunter2' });
    assert.ok(!JSON.stringify(describeConfig(config)).includes('hunter2'));
    const shown = describeConfig(config).find(({ name }) => name === 'databaseUrl');
    assert.deepEqual(shown, { name: 'databaseUrl', value: 'set', origin: 'environment' });
  });

  it('has a member in the schema for editors for each setting, of its type', async () => {
    const schema = JSON.parse(await readFile(packageFile('schema/config.schema.json'), 'utf8')) as {
      properties: Record<string, { type: string }>;
    };
    for (const [name, row] of Object.entries(settings) as [string, Setting][]) {
      const type = row.type === 'strings' ? 'array' : row.type;
      assert.equal(schema.properties[name]?.type, type, name);
    }
  });
});
