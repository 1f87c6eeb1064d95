import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import express, { Router } from 'express';
import { requireScope, type Scope } from '../base/auth/viewer.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { factsOf } from '../base/http/app.ts';
import { packageFile } from '../base/package-root.ts';
import {
  changeConsumer,
  currentWalk,
  explain,
  listConsumers,
  type RuleBook,
  readConsumer,
  setDisabled,
} from '../visibility/index.ts';
import type { Authenticate } from './authenticate.ts';
import { type ConsumerRequest, issueConsumer, reissue } from './manage.ts';

/** What the operator's routes work with. */
export interface AdminOptions {
  readonly db: Db;
  readonly rules: RuleBook;
  readonly authenticate: Authenticate;
}

/** Body of a new consumer, and of a change to one. */
interface ConsumerBody {
  readonly name?: string;
  readonly feeds?: string[];
  readonly attributes?: Record<string, string[]>;
  readonly scopes?: Scope[];
  readonly disabled?: boolean;
}

const schema = JSON.parse(readFileSync(packageFile('schema/consumer.schema.json'), 'utf8')) as object;
const validate = new Ajv2020({ allErrors: true }).compile<ConsumerBody>(schema);

/** `/admin/...`, for tokens with the scope admin. Answers JSON. */
export function adminRouter({ db, rules, authenticate }: AdminOptions): Router {
  const router = Router();
  router.use('/admin', async (request, response, next) => {
    factsOf(response).route = 'admin';
    response.setHeader('Cache-Control', 'no-store');
    requireScope(await authenticate(request.headers.authorization), 'admin');
    next();
  });
  router.use('/admin', express.json({ limit: '256kb' }));
  router.get('/admin/consumers', async (_request, response) => {
    response.json({ value: await listConsumers(db) });
  });
  router.post('/admin/consumers', async (request, response) => {
    const body = checked(request.body);
    if (body.name === undefined)
      throw new PulsefeedError('EE-114', 'A consumer needs a name.', { target: 'name' });
    const wanted: ConsumerRequest = {
      name: body.name,
      feeds: body.feeds ?? [],
      attributes: body.attributes ?? {},
      scopes: body.scopes ?? ['read'],
    };
    response.status(201).json(await issueConsumer(db, wanted));
  });
  router.get('/admin/consumers/:name', async (request, response) => {
    response.json(await readConsumer(db, request.params.name));
  });
  router.patch('/admin/consumers/:name', async (request, response) => {
    const { name } = request.params;
    const body = checked(request.body);
    await readConsumer(db, name);
    if (body.disabled !== undefined) await setDisabled(db, name, body.disabled);
    if (body.feeds !== undefined || body.attributes !== undefined) {
      await changeConsumer(db, name, {
        ...(body.feeds === undefined ? {} : { grants: body.feeds }),
        ...(body.attributes === undefined ? {} : { attributes: body.attributes }),
      });
    }
    response.json(await readConsumer(db, name));
  });
  router.post('/admin/consumers/:name/rotate', async (request, response) => {
    response.json(await reissue(db, request.params.name));
  });
  router.get('/admin/consumers/:name/explain', async (request, response) => {
    const query = new URL(request.originalUrl, 'http://localhost').searchParams;
    const [resource, key] = [query.get('resource'), query.get('key')];
    if (resource === null || key === null) {
      throw new PulsefeedError('EE-101', 'Name the record with ?resource= and &key=.', { target: 'query' });
    }
    response.json(await explain(db, await rules.refresh(), request.params.name, resource, key));
  });
  router.get('/admin/feeds', async (_request, response) => {
    const { feeds, version } = await rules.refresh();
    const walk = await currentWalk(db);
    response.json({
      version,
      feeds,
      walk:
        walk === undefined
          ? null
          : { kind: walk.kind, queued: walk.queued.toString(), startedAt: walk.startedAt },
    });
  });
  return router;
}

function checked(body: unknown): ConsumerBody {
  if (validate(body)) return body;
  throw new PulsefeedError('EE-114', 'The body is not valid; nothing was changed.', {
    details: (validate.errors ?? []).map(error => ({
      code: 'EE-114' as const,
      message: error.message ?? 'is invalid',
      target: error.instancePath === '' ? '/' : error.instancePath,
    })),
  });
}
