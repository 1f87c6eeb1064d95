import { type Logger, pino } from 'pino';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Observation, Observe } from './observe.ts';

/** What observations become: log lines and metrics. The only file that picks levels and metric names. */
export interface Reporter {
  readonly observe: Observe;
  readonly registry: Registry;
  readonly logger: Logger;
}

const requestBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @param level Least level of the lines; `silent` writes none. */
export function createReporter(level: string, destination?: { write(line: string): void }): Reporter {
  const logger =
    destination === undefined ? pino({ level, base: null }) : pino({ level, base: null }, destination);
  const registry = new Registry();
  const count = createMetrics(registry);
  return {
    logger,
    registry,
    observe(observation) {
      count(observation);
      writeLine(logger, observation);
    },
  };
}

/** Metrics of push. */
function createPushMetrics(registry: Registry): (observation: Observation) => void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  const attempts = new Counter({
    name: 'pulsefeed_push_attempts_total',
    help: 'Deliveries tried by this process.',
    labelNames: ['outcome'],
    registers,
  });
  const events = new Counter({
    name: 'pulsefeed_push_events_total',
    help: 'Events that endpoints took.',
    registers,
  });
  const seconds = new Histogram({
    name: 'pulsefeed_push_attempt_seconds',
    help: 'Time of a delivery, from its token to the answer.',
    buckets: requestBucketsSeconds,
    registers,
  });
  const lagEvents = gauge(
    'pulsefeed_push_lag_events',
    'Numbers between the head and the cursors of active subscriptions.',
    ['of'],
  );
  const lagSeconds = gauge('pulsefeed_push_lag_seconds', 'Age of the oldest number still to be looked at.');
  const subscriptions = gauge('pulsefeed_push_subscriptions', 'Subscriptions by state.', ['state']);
  const breakers = gauge('pulsefeed_push_breakers', 'Active subscriptions by breaker.', ['breaker']);
  const deadLetters = gauge('pulsefeed_push_dead_letters', 'Events refused for good.');
  return observation => {
    if (observation.kind === 'PushAttempted') {
      attempts.inc({ outcome: observation.outcome });
      seconds.observe(observation.ms / 1_000);
      if (observation.outcome === 'delivered') events.inc(observation.events);
    }
    if (observation.kind !== 'PushSampled') return;
    lagEvents.set({ of: 'furthest' }, observation.lagEvents.most);
    lagEvents.set({ of: 'all' }, observation.lagEvents.sum);
    lagSeconds.set(observation.lagSeconds);
    deadLetters.set(observation.deadLetters);
    // What is in none of them any more must not keep its last number.
    subscriptions.reset();
    breakers.reset();
    for (const [state, count] of Object.entries(observation.byState)) subscriptions.set({ state }, count);
    for (const [breaker, count] of Object.entries(observation.byBreaker)) breakers.set({ breaker }, count);
  };
}

function createMetrics(registry: Registry): (observation: Observation) => void {
  const registers = [registry];
  const requests = new Histogram({
    name: 'pulsefeed_http_request_seconds',
    help: 'Time from the request head to the end of the answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBucketsSeconds,
    registers,
  });
  const rows = new Counter({
    name: 'pulsefeed_rows_served_total',
    help: 'Rows in answers.',
    labelNames: ['route'],
    registers,
  });
  const pulses = new Counter({
    name: 'pulsefeed_pulses_total',
    help: 'Pulses numbered by this process.',
    registers,
  });
  const changes = new Counter({
    name: 'pulsefeed_changes_total',
    help: 'Changes taken from the outbox by this process.',
    registers,
  });
  const head = new Gauge({ name: 'pulsefeed_head', help: 'Last number this process handed out.', registers });
  const steps = new Histogram({
    name: 'pulsefeed_sequencer_step_seconds',
    help: 'Time of a sequencer step that took changes.',
    buckets: requestBucketsSeconds,
    registers,
  });
  const failures = new Counter({
    name: 'pulsefeed_sequencer_failures_total',
    help: 'Sequencer steps that failed and were tried again.',
    registers,
  });
  const dropped = new Counter({
    name: 'pulsefeed_pulses_dropped_total',
    help: 'Pulses that compaction in this process took from the log.',
    registers,
  });
  const ingested = new Counter({
    name: 'pulsefeed_ingested_total',
    help: 'Changes reported over ingest.',
    labelNames: ['outcome'],
    registers,
  });
  const push = createPushMetrics(registry);
  return observation => {
    switch (observation.kind) {
      case 'PushAttempted':
      case 'PushSampled':
        push(observation);
        return;
      case 'RequestServed': {
        const { method, route, status, ms } = observation;
        requests.observe({ method, route, status: String(status) }, ms / 1_000);
        if (observation.rows !== undefined) rows.inc({ route }, observation.rows);
        return;
      }
      case 'BatchNumbered':
        pulses.inc(observation.pulses);
        changes.inc(observation.changes);
        steps.observe(observation.ms / 1_000);
        // A gauge is a double: the metric may round where the log never does.
        if (observation.head !== undefined) head.set(Number(observation.head));
        return;
      case 'SequencerFailed':
        failures.inc();
        return;
      case 'Compacted':
      case 'TombstonesDropped':
        dropped.inc(observation.dropped);
        return;
      case 'Ingested':
        ingested.inc({ outcome: 'accepted' }, observation.accepted);
        ingested.inc({ outcome: 'duplicate' }, observation.duplicates);
        return;
      default:
        return;
    }
  };
}

function writeLine(logger: Logger, observation: Observation): void {
  switch (observation.kind) {
    case 'RequestServed': {
      const { kind, ...facts } = observation;
      logger[facts.status >= 500 ? 'warn' : 'info'](facts, kind);
      return;
    }
    case 'RequestFailed':
      logger.error({ requestId: observation.requestId, err: withCause(observation.error) }, 'RequestFailed');
      return;
    case 'BatchNumbered':
      logger.debug(
        {
          pulses: observation.pulses,
          changes: observation.changes,
          head: observation.head?.toString(),
          ms: observation.ms,
        },
        'BatchNumbered',
      );
      return;
    case 'SequencerFailed':
      logger[observation.transient ? 'warn' : 'error'](
        { err: withCause(observation.error), retryMs: observation.retryMs },
        'SequencerFailed',
      );
      return;
    case 'EpochOpened': {
      const { kind, lostAfter, lostTo, ...facts } = observation;
      logger.warn({ ...facts, lostAfter: lostAfter.toString(), lostTo: lostTo.toString() }, kind);
      return;
    }
    case 'SequencerWaits':
      logger[observation.reason === 'rules-differ' ? 'error' : 'info'](
        { reason: observation.reason },
        'SequencerWaits',
      );
      return;
    case 'Archived': {
      const { kind, upTo, ...facts } = observation;
      logger.info({ ...facts, upTo: upTo.toString() }, kind);
      return;
    }
    case 'ArchivingFailed':
      logger.error({ err: withCause(observation.error), retryMs: observation.retryMs }, 'ArchivingFailed');
      return;
    case 'TombstonesDropped': {
      const { kind, upTo, ...facts } = observation;
      logger.debug({ ...facts, upTo: upTo.toString() }, kind);
      return;
    }
    case 'Compacted': {
      const { kind, upTo, ...facts } = observation;
      logger.debug({ ...facts, upTo: upTo.toString() }, kind);
      return;
    }
    case 'CompactionFailed':
      logger.error({ err: withCause(observation.error), retryMs: observation.retryMs }, 'CompactionFailed');
      return;
    case 'WalkFailed':
      logger.error({ err: withCause(observation.error), retryMs: observation.retryMs }, 'WalkFailed');
      return;
    case 'WalkFinished': {
      const { kind, ...facts } = observation;
      logger.info(facts, kind);
      return;
    }
    case 'Ingested': {
      const { kind, ...facts } = observation;
      logger.info(facts, kind);
      return;
    }
    case 'PushAttempted': {
      const { kind, upTo, ...facts } = observation;
      logger[facts.outcome === 'delivered' ? 'info' : 'warn']({ ...facts, upTo: upTo.toString() }, kind);
      return;
    }
    case 'PushStopped': {
      const { kind, ...facts } = observation;
      logger.error(facts, kind);
      return;
    }
    case 'PushSampled':
      return;
    case 'PushFailed':
      logger.error({ err: withCause(observation.error), retryMs: observation.retryMs }, 'PushFailed');
      return;
    case 'ServerStarted': {
      const { kind, ...facts } = observation;
      logger.info(facts, kind);
      return;
    }
    case 'ServerStopping':
      logger.info({ signal: observation.signal }, 'ServerStopping');
      return;
    case 'ServerStopped':
      logger.info('ServerStopped');
      return;
    case 'Notice':
      logger.warn(observation.message);
      return;
    default: {
      const never: never = observation;
      throw new Error(`Unknown observation: ${String(never)}`);
    }
  }
}

/** The error that says most: a registered error wraps what the driver threw. */
function withCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
