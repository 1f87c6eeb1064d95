import { Router } from 'express';
import type { Registry } from 'prom-client';
import { factsOf } from './app.ts';

/** One thing that readiness rests on. */
export interface ReadinessCheck {
  readonly name: string;
  /** Undefined when it holds, else what is wrong, in words for the operator. */
  run(): Promise<string | undefined>;
}

/**
 * `/health/live` answers as long as the process does; `/health/ready` answers 200 or 503 with what is wrong;
 * `/metrics` in Prometheus text, to whom `allowMetrics` lets pass. @throws what that throws.
 */
export function healthRouter(
  checks: readonly ReadinessCheck[],
  registry: Registry,
  allowMetrics: (authorization: string | undefined) => Promise<void>,
): Router {
  const router = Router();
  router.get('/health/live', (_request, response) => {
    factsOf(response).route = 'health';
    response.json({ status: 'live' });
  });
  router.get('/health/ready', async (_request, response) => {
    factsOf(response).route = 'health';
    const results = await Promise.all(checks.map(check => runCheck(check)));
    const ready = results.every(({ fault }) => fault === undefined);
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      checks: Object.fromEntries(results.map(({ name, fault }) => [name, fault ?? 'ok'])),
    });
  });
  router.get('/metrics', async (request, response) => {
    factsOf(response).route = 'metrics';
    await allowMetrics(request.headers.authorization);
    response.type(registry.contentType).send(await registry.metrics());
  });
  return router;
}

/** A check that throws has failed too; its reason stays in the operator's hands, without hosts or SQL. */
async function runCheck(check: ReadinessCheck): Promise<{ name: string; fault: string | undefined }> {
  try {
    return { name: check.name, fault: await check.run() };
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'PulsefeedError' ? error.message : 'the check failed';
    return { name: check.name, fault: reason };
  }
}
