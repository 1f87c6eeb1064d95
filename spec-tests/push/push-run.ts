import { randomBytes } from 'node:crypto';
import { type FeedEvent, highest } from '../feed/event.ts';
import { readEvents, readWindow } from '../feed/read.ts';
import type { Agent } from '../http/agent.ts';
import type { Clock } from '../http/clock.ts';
import type { Exchange } from '../http/exchange.ts';
import { Unexercised, Violation } from '../rule.ts';
import type { Settings } from '../settings.ts';
import { type Answer, type Delivery, type Receiver, startReceiver } from './receiver.ts';
import { removeQuietly, resume, type Subscription, storeCredential, subscribe } from './subscriber.ts';

/** What one subscription met. */
export type Scenario = {
  subscription: Subscription;
  deliveries: readonly Delivery[];
  /** The Retry-After that was sent, as the instant before which nothing may come. */
  notBeforeMs?: number;
  /** The answer to the POST that resumes, and how many deliveries had come by then. */
  resumed?: { exchange: Exchange; deliveriesBefore: number };
};

/** All that the rules of the push mode look at. */
export type PushRun = {
  token: string;
  source: string;
  /** Subscriptions start after this number. */
  startAfter: bigint;
  /** What the log holds after `startAfter`; undefined when the log cannot be read. */
  expected?: FeedEvent[];
  /** Each delivery answered 200. */
  plain: Scenario;
  /** The first delivery is answered 429 with Retry-After in seconds. */
  seconds: Scenario;
  /** The first delivery is answered 429 with Retry-After as a date. */
  date: Scenario;
  /** The first delivery is answered 429 without more. */
  halt: Scenario;
  /** The first delivery is answered 500. */
  error: Scenario;
  /** Every delivery is answered 401 until nothing comes any more; then Resume is posted. */
  resume: Scenario;
};

const backlog = 20;
const pollMs = 20;

type Parts = {
  http: Agent;
  clock: Clock;
  settings: Settings['push'];
  receiver: Receiver;
  subscribeTo(name: string): Promise<Subscription>;
  expected: FeedEvent[] | undefined;
};

/**
 * Opens a receiver, subscribes it several times to the last events of the log, and answers in the ways that RCP-028
 * speaks of. All subscriptions run at the same time and are removed at the end.
 * @throws Unexercised when the server offers no subscription or has nothing to push.
 */
export async function runPush(http: Agent, clock: Clock, settings: Settings): Promise<PushRun> {
  const { push } = settings;
  const start = await startOf(http);
  const token = push.token ?? randomBytes(24).toString('base64url');
  const source = `conformance ${randomBytes(4).toString('hex')}`;
  const created: string[] = [];
  const receiver = await startReceiver(push.host, push.port, () => clock.now());
  try {
    const credential =
      push.credentialId === undefined ? await storeCredential(http, token) : { id: push.credentialId };
    const base = (push.publicUrl ?? `http://${push.host}:${receiver.port}`).replace(/\/+$/, '');
    const subscribeTo = async (name: string): Promise<Subscription> => {
      const made = await subscribe(http, {
        EntityEventSequence: start.after,
        CallbackUrl: `${base}/${name}`,
        CallbackCredentialId: credential.id,
        EntityEventSource: source,
        ...push.subscription,
      });
      if (made.address !== undefined) created.push(made.address);
      return made;
    };
    const parts: Parts = { http, clock, settings: push, receiver, subscribeTo, expected: start.expected };
    const scenarios = await playAll(parts);
    if ('address' in credential && credential.address !== undefined) created.push(credential.address);
    const run: PushRun = { token, source, startAfter: start.after, ...scenarios };
    return start.expected === undefined ? run : { ...run, expected: start.expected };
  } finally {
    await removeQuietly(http, created);
    await receiver.close();
  }
}

/** Where subscriptions begin, so that a backlog is waiting for each. */
async function startOf(http: Agent): Promise<{ after: bigint; expected?: FeedEvent[] }> {
  let last: FeedEvent[];
  try {
    const options = { $orderby: 'EntityEventSequence desc', $top: backlog };
    last = (await readEvents(http, options)).events.sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
  } catch (error) {
    if (error instanceof Violation) return { after: 0n };
    throw error;
  }
  const first = last[0];
  const head = highest(last);
  if (first === undefined || head === undefined || last.length < 3) {
    throw new Unexercised('the log holds fewer than three events, so that there is nothing to push');
  }
  const after = first.sequence;
  return { after, expected: (await readWindow(http, after + 1n, head)).events };
}

async function playAll(
  parts: Parts,
): Promise<Pick<PushRun, 'plain' | 'seconds' | 'date' | 'halt' | 'error' | 'resume'>> {
  const waitS = parts.settings.retryAfterSeconds;
  // Subscriptions are made one after the other; a refusal of the first ends the run at once.
  const plain = playPlain(parts, await open(parts, 'plain', () => ({ status: 200 })));
  const seconds = playRefusal(
    parts,
    await open(
      parts,
      'seconds',
      once(429, () => String(waitS)),
    ),
  );
  // A date has whole seconds: the next but one is between one and two seconds away.
  const date = playRefusal(
    parts,
    await open(
      parts,
      'date',
      once(429, () => new Date(parts.clock.now() + (waitS + 1) * 1000).toUTCString()),
    ),
  );
  const halt = playRefusal(
    parts,
    await open(
      parts,
      'halt',
      once(429, () => undefined),
    ),
  );
  const error = playRefusal(
    parts,
    await open(
      parts,
      'error',
      once(500, () => undefined),
    ),
  );
  const gate = { closed: true };
  const refused = await open(parts, 'resume', () => ({ status: gate.closed ? 401 : 200 }));
  const results = await Promise.all([plain, seconds, date, halt, error, playResume(parts, refused, gate)]);
  return {
    plain: results[0],
    seconds: results[1],
    date: results[2],
    halt: results[3],
    error: results[4],
    resume: results[5],
  };
}

/** Answers the first delivery with a refusal and every later one with 200. */
function once(
  status: number,
  retryAfter: () => string | undefined,
): (earlier: readonly Delivery[]) => Answer {
  return earlier => {
    if (earlier.length > 0) return { status: 200 };
    const value = retryAfter();
    return value === undefined ? { status } : { status, headers: { 'Retry-After': value } };
  };
}

async function open(
  parts: Parts,
  name: string,
  answer: (earlier: readonly Delivery[]) => Answer,
): Promise<Scenario> {
  const notes: { notBeforeMs?: number } = {};
  const deliveries = parts.receiver.open(name, earlier => {
    const given = answer(earlier);
    const after = given.headers?.['Retry-After'];
    if (after !== undefined) notes.notBeforeMs = instantOf(after, parts.clock.now());
    return given;
  });
  const subscription = await parts.subscribeTo(name);
  return Object.assign(notes, { subscription, deliveries });
}

function instantOf(retryAfter: string, nowMs: number): number {
  return /^[0-9]+$/.test(retryAfter) ? nowMs + Number(retryAfter) * 1000 : Date.parse(retryAfter);
}

async function until(parts: Parts, limitMs: number, done: () => boolean): Promise<boolean> {
  const endMs = parts.clock.now() + limitMs;
  while (!done()) {
    if (parts.clock.now() >= endMs) return false;
    await parts.clock.sleep(pollMs);
  }
  return true;
}

/** Waits until all has come, or until nothing has come for the waiting time. */
async function playPlain(parts: Parts, scenario: Scenario): Promise<Scenario> {
  const wanted = parts.expected;
  const { deliveries } = scenario;
  const isComplete = () => {
    if (wanted === undefined) return deliveries.length > 0;
    const got = new Set(deliveries.flatMap(each => each.events.map(event => event.sequence)));
    return wanted.every(event => got.has(event.sequence));
  };
  for (let seen = -1; seen < deliveries.length && !isComplete(); ) {
    seen = deliveries.length;
    const before = seen;
    await until(parts, parts.settings.waitMs, () => deliveries.length > before);
  }
  return scenario;
}

async function playRefusal(parts: Parts, scenario: Scenario): Promise<Scenario> {
  const limitMs = parts.settings.waitMs + (parts.settings.retryAfterSeconds + 1) * 1000;
  await until(parts, limitMs, () => scenario.deliveries.length > 1);
  return scenario;
}

async function playResume(parts: Parts, scenario: Scenario, gate: { closed: boolean }): Promise<Scenario> {
  const { waitMs, quietMs } = parts.settings;
  if (!(await until(parts, waitMs, () => scenario.deliveries.length > 0))) return scenario;
  await until(parts, waitMs, () => {
    const last = scenario.deliveries.at(-1)?.atMs ?? 0;
    return parts.clock.now() - last >= quietMs;
  });
  gate.closed = false;
  const deliveriesBefore = scenario.deliveries.length;
  const { address } = scenario.subscription;
  if (address === undefined) return scenario;
  scenario.resumed = { exchange: await resume(parts.http, address), deliveriesBefore };
  await until(parts, waitMs, () => scenario.deliveries.length > deliveriesBefore);
  return scenario;
}
