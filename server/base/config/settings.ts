/**
 * Every setting, one row each: flag, environment name, file member, reference page and dump derive from it. A
 * default stands with its consequence.
 */
export interface Setting {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings';
  readonly default: string | number | boolean | readonly string[] | undefined;
  readonly doc: string;
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  readonly pattern?: RegExp;
  /** Printed as set or unset only. */
  readonly secret?: boolean;
  /** An environment name of its own, besides PULSEFEED_ and the name in upper snake case. */
  readonly env?: string;
}

export const settings = {
  databaseUrl: {
    type: 'string',
    default: undefined,
    secret: true,
    env: 'DATABASE_URL',
    doc: 'PostgreSQL connection string. Unset: an embedded PGlite in dataDir, for trying out and small feeds.',
  },
  dataDir: {
    type: 'string',
    default: './.pulsefeed',
    doc: 'Folder of the embedded database; one process at a time owns it.',
  },
  poolSize: {
    type: 'integer',
    default: 10,
    min: 2,
    max: 500,
    doc: 'Connections to PostgreSQL in one process. Requests beyond it wait; the sequencer and LISTEN have their own.',
  },
  host: {
    type: 'string',
    default: '127.0.0.1',
    doc: 'Address to listen on. Reads are open to whoever reaches it until consumers are configured.',
  },
  port: {
    type: 'integer',
    default: 8080,
    min: 0,
    max: 65_535,
    env: 'PORT',
    doc: 'Port to listen on; 0 takes a free one and prints it.',
  },
  publicUrl: {
    type: 'string',
    default: undefined,
    pattern: /^https?:\/\/[^\s?#]+$/,
    doc: 'Root under which consumers reach the service, with its path prefix. Unset: taken from each request.',
  },
  trustProxy: {
    type: 'string',
    default: 'false',
    doc: "Express's trust proxy: true, false, a count of hops or a list of addresses whose X-Forwarded-* is believed.",
  },
  corsOrigins: {
    type: 'strings',
    default: ['*'],
    doc: 'Origins that browsers may read from; * allows all. Empty: no CORS headers.',
  },
  ingestToken: {
    type: 'string',
    default: undefined,
    secret: true,
    doc: 'Bearer token that POST /ingest asks for. Unset: /ingest answers 401 to everybody.',
  },
  adminToken: {
    type: 'string',
    default: undefined,
    secret: true,
    doc: 'Bearer token that /admin asks for. Unset: /admin answers 401 to everybody.',
  },
  jwksUrl: {
    type: 'string',
    default: undefined,
    pattern: /^https?:\/\/[^\s]+$/,
    doc: "Key set (JWKS) of the provider's own identity server; its tokens are then accepted beside ours.",
  },
  jwtAudience: { type: 'string', default: undefined, doc: 'Audience that such a token must name.' },
  jwtIssuer: { type: 'string', default: undefined, doc: 'Issuer that such a token must name.' },
  jwtClaim: {
    type: 'string',
    default: 'sub',
    doc: 'Claim of such a token that holds the name of the consumer.',
  },
  tokenLifetimeS: {
    type: 'integer',
    default: 3_600,
    min: 60,
    max: 31_536_000,
    doc: 'Seconds that a token from /oauth/token lasts.',
  },
  requestsPerMinute: {
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_000_000,
    doc: 'Requests that one consumer may make in a minute, over all processes; beyond it 429. 0: no limit.',
  },
  tokenKey: {
    type: 'string',
    default: undefined,
    secret: true,
    doc: 'Key that signs nextLink tokens. Unset: one made at migration and kept in the database.',
  },
  numbering: {
    type: 'string',
    default: 'dense',
    oneOf: ['dense', 'snowflake'],
    doc: 'How numbers grow: dense counts 1, 2, 3 and stays exact in JavaScript; snowflake carries the time.',
  },
  machineId: {
    type: 'integer',
    default: 0,
    min: 0,
    max: 1023,
    doc: 'Machine id in snowflake numbers. Uniqueness does not rest on it.',
  },
  sequencer: {
    type: 'boolean',
    default: true,
    doc: 'Whether serve numbers changes too. At least one process must.',
  },
  compactionLag: {
    type: 'string',
    default: '7d',
    pattern: /^(off|0|[1-9]\d{0,11} events|[1-9]\d{0,5}[smhd])$/,
    doc: "How far behind the head serve compacts the log: 7d (units s, m, h, d), '10000 events', 0 keeps it always compact, off leaves it whole.",
  },
  tombstones: {
    type: 'string',
    default: 'forever',
    pattern: /^(forever|[1-9]\d{0,5}[smhd])$/,
    doc: 'How long pulses of deleted and hidden records are kept: forever, or 90d (units s, m, h, d); initialising then goes by nextLink only.',
  },
  archive: {
    type: 'string',
    default: undefined,
    doc: 'Where old pulses are moved: a folder, or s3://bucket/prefix?endpoint=URL&region=NAME&pathStyle=true. Unset: nothing is moved. Once something was, every process needs it.',
  },
  archiveWindow: {
    type: 'string',
    default: '90d',
    pattern: /^(off|0|[1-9]\d{0,11} events|[1-9]\d{0,5}[smhd])$/,
    doc: "How much of the log stays in the database where archive is set: 90d (units s, m, h, d), '1000000 events', 0 for nothing, off to move nothing more.",
  },
  batchSize: {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 100_000,
    doc: 'Changes that one sequencer step takes. Larger: fewer commits; smaller: shorter holds of the head.',
  },
  pageSize: {
    type: 'integer',
    default: 1_000,
    min: 1,
    max: 100_000,
    doc: 'Rows of a page when the client asks for no size.',
  },
  maxPageSize: {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 100_000,
    doc: 'Most rows of a page, whatever is asked; more is served over nextLink.',
  },
  maxBodyBytes: {
    type: 'integer',
    default: 1_048_576,
    min: 1_024,
    max: 1_073_741_824,
    doc: 'Most bytes of a request body; beyond it 413.',
  },
  maxHeaderBytes: {
    type: 'integer',
    default: 65_536,
    min: 8_192,
    max: 1_048_576,
    doc: 'Most bytes of request line and headers; beyond it 431. Node allows 16 kB, too few for long filters.',
  },
  requestTimeoutMs: {
    type: 'integer',
    default: 60_000,
    min: 1_000,
    max: 3_600_000,
    doc: 'Time in which a request must have arrived whole.',
  },
  statementTimeoutMs: {
    type: 'integer',
    default: 30_000,
    min: 100,
    max: 3_600_000,
    doc: 'Time after which the database cancels a statement of a request.',
  },
  writeWaitMs: {
    type: 'integer',
    default: 1_000,
    min: 0,
    max: 60_000,
    doc: 'How long the answer to a write may wait for its numbers, so that its client finds what it wrote; 0 answers at once.',
  },
  shutdownMs: {
    type: 'integer',
    default: 10_000,
    min: 0,
    max: 600_000,
    doc: 'How long requests in flight may take to end after SIGTERM.',
  },
  resourceRecordUrl: {
    type: 'string',
    default: '{root}/{ResourceName}({key})',
    doc: "Template of ResourceRecordUrl; {key} is the key quoted and percent-encoded. 'off' leaves the field out.",
  },
  feedTypes: {
    type: 'boolean',
    default: false,
    doc: "Whether events have FeedTypes (Data Dictionary 2.1): the event's feeds, as far as the asking consumer holds them.",
  },
  secretKey: {
    type: 'string',
    default: undefined,
    secret: true,
    doc: 'Key of 32 characters or more that seals secrets of webhooks; several, separated by commas: the first seals, all open. Unset: no push.',
  },
  pushWorker: {
    type: 'boolean',
    default: true,
    doc: 'Whether serve delivers webhooks too, where secretKey is set. Else `pulsefeed push` must.',
  },
  pushAllow: {
    type: 'strings',
    default: [],
    doc: 'Networks that webhooks may lead to besides public addresses, over http and any port as well, such as 127.0.0.0/8.',
  },
  pushPorts: {
    type: 'strings',
    default: ['443', '8443'],
    doc: 'Ports that webhooks may lead to.',
  },
  pushProxy: {
    type: 'string',
    default: undefined,
    pattern: /^http:\/\/[^\s/?#]+\/?$/,
    doc: 'HTTP proxy that webhooks go out through, by CONNECT. It resolves the names, and must keep them from the inside.',
  },
  pushCaFile: {
    type: 'string',
    default: undefined,
    doc: 'PEM file of the authorities that endpoints of webhooks are checked against, instead of the usual ones.',
  },
  pushTimeoutMs: {
    type: 'integer',
    default: 15_000,
    min: 100,
    max: 60_000,
    doc: 'Time in which an endpoint must have answered; beyond it the try has failed.',
  },
  pushSlots: {
    type: 'integer',
    default: 64,
    min: 2,
    max: 10_000,
    doc: 'Deliveries under way at a time in one process; failing and slow endpoints get half of them at most.',
  },
  pushPerHost: {
    type: 'integer',
    default: 16,
    min: 1,
    max: 10_000,
    doc: 'Deliveries under way at a time from one process to one host and port.',
  },
  pushHostPerMinute: {
    type: 'integer',
    default: 0,
    min: 0,
    max: 600_000,
    doc: 'Requests a minute from one process to one host and port. 0: no cap.',
  },
  pushSubscriptionsPerConsumer: {
    type: 'integer',
    default: 100,
    min: 1,
    max: 100_000,
    doc: 'Subscriptions that one consumer may have.',
  },
  pushRetentionDays: {
    type: 'integer',
    default: 7,
    min: 1,
    max: 3_650,
    doc: 'Days that the log of delivery attempts is kept.',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    oneOf: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    doc: 'Least level of the log lines on standard output.',
  },
  maxLagMs: {
    type: 'integer',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    doc: 'Age of the oldest unnumbered change beyond which /health/ready answers 503.',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

type ValueOf<S extends Setting> = S['type'] extends 'integer'
  ? number
  : S['type'] extends 'boolean'
    ? boolean
    : S['type'] extends 'strings'
      ? readonly string[]
      : S extends { readonly default: string }
        ? string
        : string | undefined;

/** The settings with their types. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]> };

/** `PULSEFEED_` and the name in upper snake case. */
export function environmentName(name: string): string {
  return `PULSEFEED_${name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`;
}

/** The name as a command-line flag. */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}
