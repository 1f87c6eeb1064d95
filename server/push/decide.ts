import { classify, type PostResult, type Verdict } from './answers.ts';

/** Failures in a row from which the breaker is open. */
export const breakerThreshold = 5;

/** Claims in a row that nobody settled, from which the batch itself is suspected of killing its worker. */
export const unsettledThreshold = 5;

/** Longer than this, and the endpoint shares the slots of the slow. */
export const slowMs = 3_000;

/** Attempts without end are spread over hours by the schedule; a wait of 0 would be a busy loop. */
const shortestRetryMs = 100;

/** What the decision rests on: the claimed batch and the settings of its subscription. */
export interface Tried {
  readonly cursor: bigint;
  readonly batchHi: bigint;
  readonly events: number;
  /** Tries of this batch, this one included. */
  readonly attempt: number;
  readonly rejections: number;
  readonly failures: number;
  /** How long it has been failing, in seconds of the database's clock; 0 when it is not. */
  readonly failingForS: number;
  readonly suspectHi: bigint | undefined;
  readonly batchLimit: number | undefined;
  readonly maxEvents: number;
  readonly retrySchedule: readonly number[];
  readonly retryForS: number;
  readonly rejectTries: number;
  readonly onRejected: 'dead-letter' | 'pause';
  /** Whether a fresh token can be had, and whether it was already. */
  readonly refreshable: boolean;
  readonly tokenRefreshed: boolean;
  /** Least time between two requests, from the cap on the rate. */
  readonly intervalMs: number;
}

/** What is written when the batch is settled. Members that are absent stay as they are. */
export interface Settlement {
  readonly outcome:
    | 'delivered'
    | 'waiting'
    | 'failed'
    | 'rejected'
    | 'dead-letter'
    | 'paused'
    | 'disabled'
    | 'refresh';
  readonly cursor: bigint;
  /** False: the batch stays frozen for the next try. */
  readonly thaw: boolean;
  readonly dueInMs: number;
  readonly state: 'active' | 'paused' | 'disabled';
  readonly reason: string | undefined;
  readonly failures: number;
  readonly rejections: number;
  readonly batchLimit: number | undefined;
  readonly suspectHi: bigint | undefined;
  readonly tokenRefreshed: boolean;
  /** The one event of the batch goes to the dead letters. */
  readonly deadLetter: boolean;
  readonly slow: boolean;
}

/**
 * What becomes of a subscription after a try; pure. `random` in [0, 1) is the jitter. Nothing here acknowledges an event
 * that was not taken: the cursor moves on 2xx and with a dead letter alone.
 */
export function decide(
  tried: Tried,
  result: PostResult,
  ms: number,
  nowMs: number,
  random: number,
): Settlement {
  const verdict: Verdict = classify(result, nowMs);
  const base = unchanged(tried, ms);
  switch (verdict.kind) {
    case 'delivered':
      return { ...base, ...delivered(tried) };
    case 'wait':
      return { ...base, outcome: 'waiting', dueInMs: Math.max(verdict.ms, shortestRetryMs) };
    case 'gone':
      return { ...base, outcome: 'disabled', state: 'disabled', reason: 'The endpoint answered 410 Gone.' };
    case 'denied':
      return { ...base, ...denied(tried, result) };
    case 'rejected':
      return { ...base, ...rejected(tried, result, random) };
    case 'retry':
      return { ...base, ...failed(tried, result, random) };
    default: {
      const never: never = verdict;
      return never;
    }
  }
}

function unchanged(tried: Tried, ms: number): Settlement {
  return {
    outcome: 'failed',
    cursor: tried.cursor,
    thaw: false,
    dueInMs: 0,
    state: 'active',
    reason: undefined,
    failures: tried.failures,
    rejections: tried.rejections,
    batchLimit: tried.batchLimit,
    suspectHi: tried.suspectHi,
    tokenRefreshed: tried.tokenRefreshed,
    deadLetter: false,
    slow: ms > slowMs,
  };
}

function delivered(tried: Tried): Partial<Settlement> {
  const { batchHi, suspectHi, batchLimit, maxEvents, intervalMs } = tried;
  const past = suspectHi === undefined || batchHi >= suspectHi;
  return {
    outcome: 'delivered',
    cursor: batchHi,
    thaw: true,
    dueInMs: intervalMs,
    failures: 0,
    rejections: 0,
    tokenRefreshed: false,
    // What was rejected still lies ahead: grow again, carefully.
    batchLimit: past || batchLimit === undefined ? undefined : Math.min(batchLimit * 2, maxEvents),
    suspectHi: past ? undefined : suspectHi,
  };
}

function denied(tried: Tried, result: PostResult): Partial<Settlement> {
  if (tried.refreshable && !tried.tokenRefreshed) {
    return { outcome: 'refresh', tokenRefreshed: true, dueInMs: 0 };
  }
  const reason =
    result.kind === 'answer'
      ? `The endpoint answered ${result.status}: it does not accept the credential.`
      : 'The token server refused the client credentials.';
  return { outcome: 'paused', state: 'paused', reason };
}

function failed(tried: Tried, result: PostResult, random: number): Partial<Settlement> {
  const failures = tried.failures + 1;
  if (tried.failingForS >= tried.retryForS && failures > tried.retrySchedule.length) {
    return {
      outcome: 'paused',
      state: 'paused',
      failures,
      reason: `Given up after ${failures} failures: ${describe(result)}.`,
    };
  }
  return {
    outcome: 'failed',
    failures,
    reason: `${describe(result)}.`,
    dueInMs: backoffMs(tried, failures, random),
  };
}

/**
 * A batch that is refused `rejectTries` times is halved until the refused event is alone. Once it is known that one of
 * these is bad, each refusal halves at once; alone it gets its tries again before anything final happens.
 */
function rejected(tried: Tried, result: PostResult, random: number): Partial<Settlement> {
  const rejections = tried.rejections + 1;
  const searching = tried.suspectHi !== undefined;
  if (tried.events > 1 && (searching || rejections >= tried.rejectTries)) {
    return {
      outcome: 'rejected',
      thaw: true,
      rejections: 0,
      batchLimit: Math.max(1, Math.floor(tried.events / 2)),
      suspectHi: tried.suspectHi ?? tried.batchHi,
      reason: `${describe(result)}: looking for the event that it refuses.`,
    };
  }
  if (rejections < tried.rejectTries) {
    return {
      outcome: 'rejected',
      rejections,
      dueInMs: backoffMs(tried, rejections, random),
      reason: `${describe(result)}.`,
    };
  }
  return refusedForGood(tried, `${describe(result)} to one event`);
}

/** The event that is alone in its batch and will not be taken. */
function refusedForGood(tried: Tried, what: string): Partial<Settlement> {
  if (tried.onRejected === 'pause') {
    return { outcome: 'paused', state: 'paused', rejections: 0, reason: `${what}.` };
  }
  return {
    ...delivered(tried),
    outcome: 'dead-letter',
    deadLetter: true,
    reason: `${what}: see the dead letters.`,
  };
}

/**
 * What becomes of a batch whose workers died over it `unsettledThreshold` times in a row: halved, and alone, put aside,
 * as if the endpoint had refused it.
 */
export function decideUnsettled(tried: Tried): Settlement {
  const base = unchanged(tried, 0);
  if (tried.events > 1) {
    return {
      ...base,
      outcome: 'rejected',
      thaw: true,
      batchLimit: Math.max(1, Math.floor(tried.events / 2)),
      suspectHi: tried.suspectHi ?? tried.batchHi,
      reason: 'Workers died while delivering: looking for the event.',
    };
  }
  return { ...base, ...refusedForGood(tried, 'Workers died while delivering one event') };
}

/** Full jitter: anything up to the delay that the schedule names, so that endpoints that fell together rise apart. */
export function backoffMs(
  { retrySchedule }: Pick<Tried, 'retrySchedule'>,
  failures: number,
  random: number,
): number {
  const longest = retrySchedule[Math.min(failures, retrySchedule.length) - 1] ?? 60;
  return Math.max(shortestRetryMs, Math.floor(random * longest * 1_000));
}

function describe(result: PostResult): string {
  if (result.kind === 'answer') return `The endpoint answered ${result.status}`;
  switch (result.reason) {
    case 'timeout':
      return 'The endpoint did not answer in time';
    case 'connection':
      return 'The connection failed';
    case 'tls':
      return 'The TLS handshake failed';
    case 'refused-target':
      return 'The callback leads to an address that may not be called';
    case 'token':
      return 'No token could be had from the token server';
    case 'token-denied':
      return 'The token server refused the client credentials';
    default: {
      const never: never = result.reason;
      return never;
    }
  }
}
