import assert from 'node:assert/strict';
import { parse as parseEdmx } from '@sap-ux/edmx-parser';
import { asker, type Body } from '../cases/ask.ts';
import { openServedFeed, type ServedFeed } from '../cases/served-feed.ts';

/** What the independent parser makes of the metadata, as far as it is looked at. */
interface Parsed {
  readonly version: string;
  readonly schema: {
    readonly entitySets: readonly { readonly name: string }[];
    readonly entityTypes: readonly {
      readonly name: string;
      readonly keys: readonly { readonly name: string; readonly nullable?: boolean }[];
      readonly entityProperties: readonly { readonly name: string; readonly type: string }[];
    }[];
  };
}

const parse = (xml: string) => parseEdmx(xml) as unknown as Parsed;

describe('the model as clients read it', () => {
  let feed: ServedFeed;
  let ask: ReturnType<typeof asker>;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed();
    ask = asker(feed.url);
  });
  after(() => feed.close());

  const schemaOf = (json: Body) =>
    json['org.reso.metadata'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

  it('is read back by an independent parser with its sets, keys and types', async () => {
    const { text, headers } = await ask('/$metadata');
    assert.equal(headers.get('content-type'), 'application/xml');
    const { schema, version } = parse(text);
    assert.equal(version, '4.01');
    assert.deepEqual(
      schema.entitySets.map(({ name }) => name),
      ['EntityEvent', 'Property', 'Showing'],
    );
    for (const type of schema.entityTypes) {
      const keys = type.keys.map(key => ({ name: key.name, nullable: key.nullable }));
      assert.equal(keys.length, 1);
      assert.deepEqual(
        keys.map(key => key.nullable),
        [false],
        type.name,
      );
    }
    const event = schema.entityTypes.find(({ name }) => name === 'EntityEvent');
    assert.deepEqual(
      event?.entityProperties.map(({ name, type }) => [name, type]),
      [
        ['EntityEventSequence', 'Edm.Int64'],
        ['ResourceName', 'Edm.String'],
        ['ResourceRecordKey', 'Edm.String'],
        ['ResourceRecordUrl', 'Edm.String'],
      ],
    );
    const property = schema.entityTypes.find(({ name }) => name === 'Property');
    const types = Object.fromEntries(
      (property?.entityProperties ?? []).map(({ name, type }) => [name, type]),
    );
    assert.equal(types.ListPrice, 'Edm.Decimal');
    assert.equal(types.Views, 'Collection(Edm.String)');
    assert.equal(types.ModificationTimestamp, 'Edm.DateTimeOffset');
  });

  it('is well-formed XML: each element is closed, and no text holds a bare & or <', async () => {
    const { text } = await ask('/$metadata');
    const open: string[] = [];
    const rest = text
      .replace(/<\?xml[^?]*\?>/, '')
      .replace(
        /<(\/?)([\w:]+)((?:\s+[\w:]+="[^"<&]*(?:&#\d+;[^"<&]*)*")*)\s*(\/?)>/g,
        (_, close: string, name: string, _attributes: string, empty: string) => {
          if (close === '/') assert.equal(open.pop(), name);
          else if (empty === '') open.push(name);
          return '';
        },
      );
    assert.deepEqual(open, []);
    assert.doesNotMatch(rest, /[<>&]/);
  });

  it('is the same in JSON, where it says what the service can do', async () => {
    const { json, headers } = await ask('/$metadata', { accept: 'application/json' });
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(json.$Version, '4.01');
    const schema = schemaOf(json);
    const { entityTypes } = parse((await ask('/$metadata')).text).schema;
    for (const { name, entityProperties } of entityTypes) {
      const members = Object.keys(schema[name] ?? {}).filter(member => !/^[$@]/.test(member));
      assert.deepEqual(
        members,
        entityProperties.map(property => property.name),
        name,
      );
    }
    const container = schema.Pulsefeed ?? {};
    assert.equal(container['@Core.ODataVersions'], '4.0 4.01');
    for (const term of [
      'ConformanceLevel',
      'FilterFunctions',
      'SupportedFormats',
      'BatchSupport',
      'QuerySegmentSupported',
    ]) {
      assert.ok(`@Capabilities.${term}` in container, term);
    }
    const set = container.EntityEvent as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    for (const [term, member] of [
      ['InsertRestrictions', 'Insertable'],
      ['UpdateRestrictions', 'Updatable'],
      ['DeleteRestrictions', 'Deletable'],
    ] as const) {
      assert.equal(set[`@Capabilities.${term}`]?.[member], false);
    }
    assert.equal(set['@Capabilities.ChangeTracking']?.Supported, true);
  });

  it('refuses a schema version that there never was', async () => {
    assert.equal((await ask('/$metadata?$schemaversion=*')).status, 200);
    assert.equal((await ask('/$metadata?$schemaversion=2')).status, 404);
    assert.equal((await ask('/EntityEvent?$schemaversion=2')).status, 404);
  });

  describe('OpenAPI', () => {
    /** Every value in the document, with the path to it. */
    function* walk(value: unknown, path = '#'): Generator<[string, Readonly<Record<string, unknown>>]> {
      if (typeof value !== 'object' || value === null) return;
      if (!Array.isArray(value)) yield [path, value as Readonly<Record<string, unknown>>];
      for (const [name, inner] of Object.entries(value)) yield* walk(inner, `${path}/${name}`);
    }

    it('describes every set, with references that lead somewhere and parameters that are declared', async () => {
      const { json, headers } = await ask('/openapi.json');
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(json.openapi, '3.1.0');
      assert.deepEqual(json.servers, [{ url: feed.url }]);
      const ids = new Set<unknown>();
      for (const [path, value] of walk(json)) {
        if (typeof value.$ref === 'string') {
          const target = value.$ref
            .slice(2)
            .split('/')
            .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], json);
          assert.ok(target !== undefined, `${path} ${value.$ref}`);
        }
        if (typeof value.operationId === 'string') {
          assert.ok(!ids.has(value.operationId), value.operationId);
          ids.add(value.operationId);
          assert.ok(typeof value.responses === 'object');
        }
      }
      const paths = json.paths as Readonly<
        Record<string, { readonly parameters?: readonly { readonly name: string }[] }>
      >;
      for (const name of ['EntityEvent', 'Property', 'Showing']) assert.ok(`/${name}` in paths);
      for (const [path, item] of Object.entries(paths)) {
        const declared = (item.parameters ?? []).map(parameter => parameter.name);
        assert.deepEqual(
          [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]),
          declared,
          path,
        );
      }
    });

    it('has schemas that what is served fulfils', async () => {
      const { Ajv2020 } = await import('ajv/dist/2020.js');
      const addFormats = (await import('ajv-formats')).default as unknown as (ajv: object) => void;
      const { json } = await ask('/openapi.json');
      const ajv = new Ajv2020({ strict: false });
      addFormats(ajv);
      ajv.addSchema({ $id: 'https://feed.example/openapi', ...json } as object);
      const validate = ajv.getSchema(
        'https://feed.example/openapi#/components/schemas/org.reso.metadata.Property',
      );
      const rows = (await ask('/Property')).json.value ?? [];
      assert.equal(rows.length, 41);
      for (const row of rows) assert.ok(validate?.(row), JSON.stringify(validate?.errors));
      const error = ajv.getSchema('https://feed.example/openapi#/components/schemas/error');
      assert.ok(error?.((await ask('/Nothing')).json));
    });
  });

  describe('the start page', () => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

    it('is for browsers only', async () => {
      const page = await ask('/', { accept: browser });
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
      assert.match(page.headers.get('vary') ?? '', /Accept/);
      for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9', '']) {
        assert.match(
          (await ask('/', accept === '' ? {} : { accept })).headers.get('content-type') ?? '',
          /^application\/json/,
          accept,
        );
      }
      assert.match(
        (await ask('/?$format=json', { accept: browser })).headers.get('content-type') ?? '',
        /^application\/json/,
      );
    });

    it('loads nothing from anywhere, under a policy that lets nothing but its own style', async () => {
      const { text, headers } = await ask('/', { accept: browser });
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none';style-src 'sha256-[\w+/=]+';/);
      assert.doesNotMatch(policy, /upgrade-insecure-requests/);
      assert.doesNotMatch(text, /<script|<link|<img|<iframe|@import|url\(|\sstyle=|\son\w+=/i);
      const { createHash } = await import('node:crypto');
      const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
      assert.ok(policy.includes(createHash('sha256').update(style).digest('base64')));
    });

    it('shows requests that work as they stand', async () => {
      await feed.pulse([['Note', '1']]);
      const { text } = await ask('/', { accept: browser });
      const plainText = (html: string) =>
        html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
      const urls = [...text.matchAll(/curl '([^']+)'/g), ...text.matchAll(/href="([^"]+)"/g)].map(match =>
        plainText(match[1] ?? ''),
      );
      assert.ok(urls.length >= 8);
      for (const url of urls) {
        const { status } = await ask(url);
        assert.ok(url.includes('KEY') ? status === 404 : status === 200, `${url} ${status}`);
      }
    });
  });
});
