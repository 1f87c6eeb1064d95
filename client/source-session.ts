import type { Auth } from './auth.ts';
import { type HttpClient, httpClient } from './http-client.ts';
import type { Timeouts } from './http-send.ts';
import { type Resource, readMetadata, type Schema, schemaFromKeys } from './metadata.ts';
import type { Notify } from './notice.ts';
import { type FetchBatch, type RecordFetcher, recordFetcher } from './record-fetcher.ts';
import { ReplicationError } from './replication-error.ts';
import { DEFAULT_RETRY, type RetryOptions } from './retry-policy.ts';
import { serviceRoot } from './source-url.ts';
import { REAL_TIMING, type Timing } from './timing.ts';

/** The feed itself, and the resources that describe the others (Web API Core 2.1.0): no event names their rows. */
const withoutEvents: ReadonlySet<string> = new Set(['EntityEvent', 'Field', 'Lookup']);

/** How a source is reached; shared by `replicate` and `verify`. */
export interface SourceOptions {
  /** The OData service root, e.g. `https://api.example.com/odata`. */
  readonly url: string;
  readonly auth?: Auth | undefined;
  /** Resources to keep; all that the metadata has, without EntityEvent, by default. */
  readonly resources?: readonly string[] | undefined;
  /** Parents by child, where `$metadata` does not tell: `{ Media: ['Property'] }`. Replaces what it tells of that child. */
  readonly parents?: Readonly<Record<string, readonly string[]>>;
  /** Key fields by resource; then `$metadata` is not asked for and every field is kept as JSON. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Requests for records in flight; 4 by default. */
  readonly concurrency?: number | undefined;
  /** Keys in one request; 100 by default. Shrinks by itself where the source allows fewer. */
  readonly batchSize?: number | undefined;
  /** 4,000 characters by default; servers usually allow 8,000. */
  readonly maxUrlLength?: number;
  readonly fetchBatch?: FetchBatch;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryOptions>;
  readonly userAgent?: string;
  /** The longest answer accepted, decompressed; 64 MiB by default. */
  readonly maxBodyBytes?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice?: Notify;
  readonly timing?: Timing;
}

/** An open connection to a source. */
export interface SourceSession {
  readonly base: string;
  readonly http: HttpClient;
  readonly fetcher: RecordFetcher;
  readonly schema: Schema;
  /** Asks for `$metadata` again; the schema of the session stays as it is. */
  readSchema(): Promise<Schema>;
}

const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 30_000, totalMs: 180_000 };

/** Opens a session, runs `use`, and ends its connections and requests. @throws ReplicationError */
export async function withSource<T>(
  options: SourceOptions,
  persistent: boolean,
  use: (session: SourceSession, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const base = serviceRoot(options.url);
  const ending = new AbortController();
  const stop = () => ending.abort(options.signal?.reason);
  if (options.signal?.aborted) stop();
  options.signal?.addEventListener('abort', stop);
  const notify = options.onNotice ?? (() => {});
  const concurrency = atLeastOne('concurrency', options.concurrency ?? 4);
  const http = httpClient({
    auth: options.auth ?? { kind: 'none' },
    userAgent: options.userAgent ?? 'pulsefeed-client',
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
    retry: { ...DEFAULT_RETRY, ...options.retry },
    // One more for the page that is read ahead meanwhile.
    connections: concurrency + 1,
    maxBodyBytes: options.maxBodyBytes ?? 64 * 1024 * 1024,
    persistent,
    signal: ending.signal,
    timing: options.timing ?? REAL_TIMING,
    notify,
  });
  try {
    const readSchema = () => loadSchema(base, http, options);
    const fetcher = recordFetcher({
      base,
      http,
      concurrency,
      batchSize: atLeastOne('batchSize', options.batchSize ?? 100),
      maxUrlLength: options.maxUrlLength ?? 4000,
      fetchBatch: options.fetchBatch,
      signal: ending.signal,
      notify,
    });
    return await use({ base, http, fetcher, schema: await readSchema(), readSchema }, ending.signal);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    ending.abort(new Error('The session has ended.'));
    await http.close();
  }
}

function atLeastOne(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ReplicationError('usage', `${name} must be a whole number of at least 1.`);
}

async function loadSchema(base: string, http: HttpClient, options: SourceOptions): Promise<Schema> {
  if (options.keys) return chooseResources(schemaFromKeys(options.keys), options);
  const url = `${base}/$metadata`;
  // Bounded also when following: a wrong URL is to be told at once.
  const attempts = options.retry?.attempts ?? DEFAULT_RETRY.attempts;
  const full = await http.get(url, { accept: 'application/xml', attempts }, answer => {
    if (answer.status === 200) return readMetadata(answer.text);
    const message = `$metadata answers ${answer.status}; the option "keys" makes it unnecessary.`;
    throw new ReplicationError('metadata', message, { status: answer.status, url });
  });
  return chooseResources(full, options);
}

function chooseResources(full: Schema, options: SourceOptions): Schema {
  const resources = new Map<string, Resource>();
  const names = options.resources ?? [...full.resources.keys()].filter(name => !withoutEvents.has(name));
  for (const name of names) {
    const resource = full.resources.get(name);
    if (!resource)
      throw new ReplicationError(
        'usage',
        `The source has no resource ${name}; it has ${[...full.resources.keys()].join(', ')}.`,
      );
    const parents = options.parents?.[name] ?? resource.parents;
    resources.set(name, { ...resource, parents: parents.filter(parent => names.includes(parent)) });
  }
  return { resources };
}
