import { Ajv } from 'ajv';
import type { JsonObject } from './http/exact-json.ts';
import type { Mode } from './rule.ts';
import { settingsSchema } from './settings-schema.ts';

/** How canary records are written. Everything has a default that fits RESO's Property, Member, Office and Media. */
export type CanarySettings = {
  /** The entity set that takes the canaries. There is none by default: a run never chooses what to write to. */
  resource?: string;
  /** Field values for a new record, besides its key. */
  create?: JsonObject;
  /** Field values for an update. By default a free text field of the metadata is set. */
  update?: JsonObject;
  /** A resource whose records belong to `resource`; `{parent}` in a value becomes the parent's key. */
  child?: { resource: string; create: JsonObject };
  /** How long to wait for the event of a write, in milliseconds. Default 30,000. */
  waitMs?: number;
  /** Pause between two looks for an event, in milliseconds. Default 200. */
  pollMs?: number;
};

/** Bounds of the stress mode. */
export type StressSettings = { writers?: number; readers?: number; writesPerWriter?: number };

/** How the push mode is reached and what it waits for. */
export type PushSettings = {
  /** The address at which the server reaches the receiver. Default: the receiver's own, on the loopback. */
  publicUrl?: string;
  /** Where the receiver listens. Default 127.0.0.1. */
  host?: string;
  /** The receiver's port. Default: any free one. */
  port?: number;
  /** How long to wait for a delivery, in milliseconds. Default 30,000. */
  waitMs?: number;
  /** The Retry-After that the receiver demands, in seconds. Default 2. */
  retryAfterSeconds?: number;
  /** How long nothing must arrive before a refused feed counts as stopped, in milliseconds. Default 3,000. */
  quietMs?: number;
  /** An existing CallbackCredentialId; `token` must then be its bearer token. */
  credentialId?: string;
  token?: string;
  /** Field names and values added to each subscription. */
  subscription?: JsonObject;
};

/** What a caller may set. Only `url` is needed. */
export type ConformanceOptions = {
  /** The service root, for instance `https://api.example.com/reso/odata`. */
  url: string;
  mode?: Mode;
  /** The version of Web API Core that the server claims. Rules of 2.1.0 are skipped for 2.0.0. Default 2.1.0. */
  core?: '2.0.0' | '2.1.0';
  /** A bearer token. */
  token?: string;
  /** OAuth2 client credentials; all three together. */
  clientId?: string;
  clientSecret?: string;
  tokenUrl?: string;
  scope?: string;
  /** Rules to run: ids, or beginnings of ids such as `rcp-027`. */
  only?: readonly string[];
  /** How many events of the log are walked at most. Default 100,000. */
  maxEvents?: number;
  /** How many records are fetched one by one. Default 40. */
  sampleRecords?: number;
  /** Least time between two requests, in milliseconds. Default 50, in stress mode 0. */
  paceMs?: number;
  /** Limit for one request, in milliseconds. Default 15,000. */
  timeoutMs?: number;
  /** Limit for the whole run, in seconds. Default 900. */
  maxSeconds?: number;
  /** Count warnings as not conformant. */
  strict?: boolean;
  /** Demand https even on a loopback address, where it is otherwise not judged. */
  requireHttps?: boolean;
  canary?: CanarySettings;
  stress?: StressSettings;
  push?: PushSettings;
};

type Complete<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };

/** Options with every default filled in. */
export type Settings = {
  url: string;
  mode: Mode;
  core: '2.0.0' | '2.1.0';
  auth: 'none' | 'bearer' | 'client-credentials';
  token?: string;
  client?: { id: string; secret: string; tokenUrl: string; scope?: string };
  only: readonly string[];
  maxEvents: number;
  sampleRecords: number;
  paceMs: number;
  timeoutMs: number;
  maxSeconds: number;
  strict: boolean;
  requireHttps: boolean;
  canary: CanarySettings & { waitMs: number; pollMs: number };
  stress: Complete<StressSettings>;
  push: PushSettings & {
    host: string;
    port: number;
    waitMs: number;
    retryAfterSeconds: number;
    quietMs: number;
  };
};

/** Thrown for options that cannot be used; the message names each fault by its option. */
export class BadOptions extends Error {}

const validate = new Ajv({ allErrors: true }).compile(settingsSchema);

/** Checks options and fills in the defaults. @throws BadOptions listing every fault. */
export function resolveSettings(options: ConformanceOptions): Settings {
  const faults = validate(options)
    ? []
    : (validate.errors ?? []).map(each => `${each.instancePath.slice(1) || 'options'} ${each.message}`);
  if (!URL.canParse(options.url) || !/^https?:/.test(options.url))
    faults.push('url must be an http or https address');
  const clientParts = [options.clientId, options.clientSecret, options.tokenUrl].filter(
    part => part !== undefined,
  );
  if (clientParts.length !== 0 && clientParts.length !== 3) {
    faults.push('clientId, clientSecret and tokenUrl belong together');
  }
  if (options.token !== undefined && clientParts.length > 0)
    faults.push('give token or client credentials, not both');
  if (faults.length > 0) throw new BadOptions(faults.join('; '));
  return withDefaults(options);
}

function withDefaults(options: ConformanceOptions): Settings {
  const mode = options.mode ?? 'observe';
  const { clientId, clientSecret, tokenUrl, scope } = options;
  const settings: Settings = {
    url: options.url.replace(/[?#].*$/, '').replace(/\/+$/, ''),
    mode,
    core: options.core ?? '2.1.0',
    auth: clientId !== undefined ? 'client-credentials' : options.token !== undefined ? 'bearer' : 'none',
    only: options.only ?? [],
    maxEvents: options.maxEvents ?? 100_000,
    sampleRecords: options.sampleRecords ?? 40,
    paceMs: options.paceMs ?? (mode === 'stress' ? 0 : 50),
    timeoutMs: options.timeoutMs ?? 15_000,
    maxSeconds: options.maxSeconds ?? 900,
    strict: options.strict ?? false,
    requireHttps: options.requireHttps ?? false,
    canary: { waitMs: 30_000, pollMs: 200, ...options.canary },
    stress: { writers: 4, readers: 3, writesPerWriter: 15, ...options.stress },
    push: {
      host: '127.0.0.1',
      port: 0,
      waitMs: 30_000,
      retryAfterSeconds: 2,
      quietMs: 3000,
      ...options.push,
    },
  };
  if (options.token !== undefined) settings.token = options.token;
  if (clientId !== undefined && clientSecret !== undefined && tokenUrl !== undefined) {
    settings.client = {
      id: clientId,
      secret: clientSecret,
      tokenUrl,
      ...(scope === undefined ? {} : { scope }),
    };
  }
  return settings;
}
