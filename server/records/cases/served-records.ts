import { atTestEnd } from '../../../testing/cleanup.ts';
import { embeddedFolder } from '../../../testing/embedded-folder.ts';
import { testDatabase } from '../../../testing/postgres.ts';
import { issueConsumer } from '../../access/index.ts';
import type { Scope } from '../../base/auth/viewer.ts';
import { type ConfigFile, loadConfig, type ResourceConfig } from '../../base/config/index.ts';
import { createReporter } from '../../base/report.ts';
import { installCapture } from '../../capture/index.ts';
import { migrateAndPublish, openDatabase, openRuntime, type Runtime } from '../../runtime.ts';
import { serve } from '../../serve.ts';

/** An answer with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; digits as JavaScript has them. */
  readonly json: Json;
}

/** What tests read out of a body. */
export interface Json {
  readonly [name: string]: unknown;
  readonly value: readonly Readonly<Record<string, unknown>>[];
}

/** For tests: tables with capture on them, served with everything that a real server has. */
export interface ServedRecords {
  readonly url: string;
  readonly runtime: Runtime;
  /** Runs SQL as the provider would. */
  script(sql: string): Promise<void>;
  /** Numbers what waits; then every record's visibility is stored. */
  settle(): Promise<void>;
  /** A token of a new consumer. */
  consumer(name: string, feeds: readonly string[], scopes?: readonly Scope[]): Promise<string>;
  request(path: string, options?: RequestOptions): Promise<Answer>;
  /** The keys or other values of one field, over all pages. */
  all(path: string, field: string, token?: string): Promise<unknown[]>;
}

export interface RequestOptions {
  readonly method?: string;
  readonly token?: string;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServedOptions {
  readonly feeds?: NonNullable<ConfigFile['feeds']>;
  /** Runs the sequencer beside the server, as `pulsefeed serve` does. */
  readonly sequencer?: boolean;
  /** PGlite stands for a feed without a database server; it opens slowly. */
  readonly engine?: 'pglite';
}

/** The operator's token of the fixture. */
export const adminToken = 'operator-token-of-the-tests';

/** Makes a database with these tables, puts a feed on it and serves it. Everything ends with the test. */
export async function serveRecords(
  ddl: string,
  resources: readonly ResourceConfig[],
  { feeds, sequencer = false, engine }: ServedOptions = {},
): Promise<ServedRecords> {
  const place = engine === 'pglite' ? await embedded() : await onPostgres();
  atTestEnd(place.drop);
  const loaded = await loadConfig({ env: {}, cwd: import.meta.dirname });
  const config = {
    ...loaded,
    resources,
    file: { resources, ...(feeds === undefined ? {} : { feeds }) },
    settings: {
      ...loaded.settings,
      ...place.settings,
      ...{ sequencer, adminToken, host: '127.0.0.1', writeWaitMs: sequencer ? 5_000 : 0 },
    },
  };
  const db = await openDatabase(config, 'records test');
  atTestEnd(() => db.close());
  const parts = tableParts(ddl);
  await db.script(parts.tables);
  await migrateAndPublish(config, db);
  const runtime = await openRuntime(config, db);
  await installCapture(db, runtime.tables);
  await db.script(parts.rows);
  const served = await serve(runtime, createReporter('silent'), { port: 0 });
  atTestEnd(() => served.stop());
  const request = requester(served.url);
  return {
    url: served.url,
    runtime,
    script: sql => db.script(sql),
    settle: () => settle(runtime),
    async consumer(name, granted, scopes = ['read']) {
      const { token } = await issueConsumer(db, { name, feeds: granted, attributes: {}, scopes });
      return token;
    },
    request,
    all: (path, field, token) => allPages(request, served.url, path, field, token),
  };
}

async function onPostgres() {
  const { url, drop } = await testDatabase({ name: 'records' });
  return { settings: { databaseUrl: url }, drop };
}

async function embedded() {
  const folder = await embeddedFolder('records');
  return { settings: { dataDir: folder.path }, drop: () => folder.remove() };
}

/** Rows are written once capture is installed: from the first `insert` on. */
function tableParts(ddl: string): { tables: string; rows: string } {
  const at = ddl.search(/^insert /m);
  return at < 0 ? { tables: ddl, rows: '' } : { tables: ddl.slice(0, at), rows: ddl.slice(at) };
}

function requester(url: string): ServedRecords['request'] {
  return async (path, { method = 'GET', token, body, headers = {} } = {}) => {
    const response = await fetch(path.startsWith('http') ? path : `${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /^[{[]/.test(text) ? (JSON.parse(text) as Json) : { value: [] };
    return { status: response.status, headers: response.headers, text, json };
  };
}

async function allPages(
  request: ServedRecords['request'],
  url: string,
  path: string,
  field: string,
  token: string | undefined,
): Promise<unknown[]> {
  const values: unknown[] = [];
  let next: string | undefined = `${url}${path}`;
  for (let page = 0; next !== undefined; page += 1) {
    if (page > 1_000) throw new Error('the pages do not end');
    const answer: Answer = await request(next, token === undefined ? {} : { token });
    if (answer.status !== 200) throw new Error(`${next}: ${answer.status} ${answer.text}`);
    values.push(...answer.json.value.map(row => row[field]));
    const link = answer.json['@odata.nextLink'] ?? answer.json['@nextLink'];
    next = typeof link === 'string' ? link : undefined;
  }
  return values;
}

async function settle(runtime: Runtime): Promise<void> {
  const sequencer = runtime.sequencer();
  try {
    for (let step = 0; (await sequencer.step()).kind === 'numbered'; step += 1) {
      if (step > 1_000) throw new Error('the sequencer does not come to rest');
    }
  } finally {
    await sequencer.close();
  }
}
