import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import express, { type Request, Router } from 'express';
import { requireScope, type Viewer } from '../base/auth/viewer.ts';
import { type ErrorDetail, PulsefeedError } from '../base/errors.ts';
import { factsOf } from '../base/http/app.ts';
import type { Observe } from '../base/observe.ts';
import { packageFile } from '../base/package-root.ts';
import type { EventLog, ReportedChange } from '../log/index.ts';

/** What the route for reported changes works with. */
export interface IngestOptions {
  readonly log: EventLog;
  readonly observe: Observe;
  /** Who asks. @throws EE-200 for a token that is not valid. */
  readonly authenticate: (authorization: string | undefined) => Promise<Viewer>;
  readonly maxBodyBytes: number;
  /** ResourceNames that may be reported: those of the configuration. */
  readonly resources: ReadonlySet<string>;
  /** Names of the feeds that a change may state; undefined while no feeds are configured, when none is looked at. */
  readonly knownFeeds: () => Promise<ReadonlySet<string> | undefined>;
  /** Called after changes were committed: the sequencer need not wait for its next poll. */
  readonly poke: () => void;
}

interface IngestBody {
  readonly source: string;
  readonly changes: readonly (ReportedChange & { readonly id: string })[];
}

const mostChanges = 10_000;
const mostDetails = 100;

const schema = JSON.parse(readFileSync(packageFile('schema/ingest.schema.json'), 'utf8')) as object;
const validateBody: ValidateFunction<IngestBody> = new Ajv2020({ allErrors: true }).compile<IngestBody>(
  schema,
);

/**
 * `POST /ingest`: changes of services that are not in this database, as one JSON object or as NDJSON with `?source=`.
 * All or nothing, idempotent by (source, id); answers `{ accepted, duplicates }`.
 */
export function ingestRouter(options: IngestOptions): Router {
  const router = Router();
  const types = ['application/json', 'application/x-ndjson', 'application/ndjson'];
  router.all('/ingest', async (request, response, next) => {
    factsOf(response).route = 'ingest';
    if (request.method !== 'POST') {
      throw new PulsefeedError('EE-108', 'Changes are reported by POST.', { headers: { Allow: 'POST' } });
    }
    requireScope(await options.authenticate(request.headers.authorization), 'ingest');
    if (request.is(types) === false) {
      throw new PulsefeedError('EE-111', `Content-Type must be one of ${types.join(', ')}.`);
    }
    next();
  });
  router.post(
    '/ingest',
    express.text({ type: types, limit: options.maxBodyBytes, defaultCharset: 'utf-8' }),
    async (request, response) => {
      const body = readBody(request);
      checkNames(body, options.resources, await options.knownFeeds());
      const result = await options.log.append(body.source, body.changes);
      options.poke();
      options.observe({ kind: 'Ingested', source: body.source, ...result });
      response.status(200).json(result);
    },
  );
  return router;
}

function readBody(request: Request): IngestBody {
  const text = typeof request.body === 'string' ? request.body : '';
  const parsed =
    request.is('application/json') === false ? fromNdjson(request, text) : parseJson(text, 'body');
  if (validateBody(parsed)) return parsed;
  const details: ErrorDetail[] = (validateBody.errors ?? []).slice(0, mostDetails).map(error => ({
    code: 'EE-114',
    message: `${error.message ?? 'is invalid'}${unknownMember(error.params)}`,
    target: error.instancePath === '' ? '/' : error.instancePath,
  }));
  throw new PulsefeedError('EE-114', 'The reported changes are not valid; nothing was taken.', { details });
}

function unknownMember(params: Record<string, unknown>): string {
  return typeof params.additionalProperty === 'string' ? `: ${params.additionalProperty}` : '';
}

function fromNdjson(request: Request, text: string): unknown {
  const source = new URL(request.originalUrl, 'http://localhost').searchParams.get('source');
  const changes = text
    .split('\n')
    .map((line, index) => ({ line: line.trim(), target: `line ${index + 1}` }))
    .filter(({ line }) => line !== '')
    .slice(0, mostChanges + 1)
    .map(({ line, target }) => parseJson(line, target));
  return { ...(source === null ? {} : { source }), changes };
}

function parseJson(text: string, target: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PulsefeedError('EE-114', 'This is not valid JSON; nothing was taken.', {
      target,
      cause: error,
    });
  }
}

function checkNames(
  body: IngestBody,
  resources: ReadonlySet<string>,
  feeds: ReadonlySet<string> | undefined,
): void {
  const details: ErrorDetail[] = [];
  const refuse = (message: string, target: string) => {
    if (details.length < mostDetails) details.push({ code: 'EE-114', message, target });
  };
  body.changes.forEach((change, index) => {
    if (!resources.has(change.resource)) {
      refuse(`${change.resource} is not a resource of this feed`, `/changes/${index}/resource`);
    }
    const unknown = feeds === undefined ? undefined : change.feeds?.find(feed => !feeds.has(feed));
    if (unknown !== undefined) refuse(`${unknown} is not a configured feed`, `/changes/${index}/feeds`);
  });
  if (details.length > 0) {
    throw new PulsefeedError('EE-114', 'A change names an unknown resource or feed; nothing was taken.', {
      details,
    });
  }
}
