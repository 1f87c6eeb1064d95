import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from '../server/base/config/index.ts';
import { unobserved } from '../server/base/observe.ts';
import { openPush, type Push, type PushWorker } from '../server/push/index.ts';
import { atTestEnd } from './cleanup.ts';
import { type ServedFeeds, serveFeeds } from './served-feeds.ts';
import { until } from './until.ts';

/** One POST as a receiver got it. */
export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Sequences of the events in it. */
  readonly sequences: readonly bigint[];
}

/** How a receiver answers one POST. */
export type Answer = (response: ServerResponse, received: Received) => void;

/** For tests: an endpoint that answers as it is told, and with 200 when it is told nothing. */
export interface ScriptedReceiver {
  readonly url: string;
  /** Everything that came, in order. */
  readonly received: readonly Received[];
  /** Sequences of what was taken (answered 2xx), in order. */
  readonly taken: readonly bigint[];
  /** How the next POSTs are answered, one after the other. */
  next(...answers: Answer[]): void;
  /** How POSTs are answered that no `next` is left for. */
  always(answer: Answer): void;
  close(): Promise<void>;
}

/** Answers with a status and headers. */
export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  response =>
    void response.writeHead(code, headers).end(body);

/** Starts a receiver on 127.0.0.1; it ends with the test. */
export async function scriptedReceiver(port = 0): Promise<ScriptedReceiver> {
  const received: Received[] = [];
  const taken: bigint[] = [];
  const script: Answer[] = [];
  let standard: Answer = status(200);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { headers: request.headers, body, sequences: sequencesOf(body) };
      received.push(one);
      response.once('finish', () => {
        if (response.statusCode < 300) taken.push(...one.sequences);
      });
      (script.shift() ?? standard)(response, one);
    });
  });
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  atTestEnd(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    received,
    taken,
    next: (...answers) => void script.push(...answers),
    always: answer => {
      standard = answer;
    },
    close,
  };
}

function sequencesOf(body: string): bigint[] {
  return [...body.matchAll(/"EntityEventSequence":(\d+)/g)].map(([, digits = '0']) => BigInt(digits));
}

/** For tests: a served feed with push, a consumer, and a worker that is driven by hand. */
export interface PushFixture extends ServedFeeds {
  readonly push: Push;
  readonly url: string;
  /** Asks the service as the consumer. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<{ status: number; headers: Headers; json: Json }>;
  /** Makes a subscription and returns its key. */
  subscribe(body: Record<string, unknown>): Promise<string>;
  /** Starts a worker in this process; it ends with the test. */
  work(): Promise<PushWorker>;
  /** Writes and numbers so many listings; returns the head. */
  events(count: number): Promise<bigint>;
  /** Makes it due now, whatever it waits for. */
  dueNow(id: string): Promise<void>;
  /** The row of a subscription. */
  row(id: string): Promise<Record<string, unknown>>;
  /** Resolves when the cursor has reached the head. */
  caughtUp(id: string): Promise<void>;
  /** Outcomes of the attempts so far, in order. */
  outcomes(id: string): Promise<string[]>;
}

/** What an answer held. */
export type Json = Record<string, unknown>;

/** The settings that tests of push run with. */
export const pushSettings: Partial<Settings> = {
  secretKey: 'a secret key of tests with 32 characters or more',
  pushAllow: ['127.0.0.0/8'],
  pushWorker: false,
  pushTimeoutMs: 2_000,
};

/** Opens it; everything ends with the test. */
export async function pushFixture(
  settings: Partial<Settings> = {},
  anonymous: readonly string[] = [],
): Promise<PushFixture> {
  const served = await serveFeeds({ anonymous, settings: { ...pushSettings, ...settings } });
  const { runtime } = served;
  const { db } = runtime;
  const push = openPush({ ...runtime, observe: unobserved }, runtime.config.settings);
  if (push === undefined) throw new Error('push is off');
  atTestEnd(() => push.close());
  const { token } = await served.consumer('reader', ['IDX']);
  const [url = ''] = served.urls;
  let written = 0;
  const ask: PushFixture['ask'] = async (method, path, body, as = token) => {
    const answer = await fetch(`${url}/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${as}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      json: text === '' ? {} : (JSON.parse(text) as Json),
    };
  };
  const row = async (id: string) => {
    const [found] = await db.query<Record<string, unknown>>({
      text: 'select * from pulsefeed.push_subscription where id = $1',
      values: [id],
    });
    return found ?? {};
  };
  return {
    ...served,
    push,
    url,
    ask,
    row,
    async subscribe(body) {
      const made = await ask('POST', 'EntityEventSubscription', body);
      if (made.status !== 201) throw new Error(JSON.stringify(made.json));
      return String(made.json.EntityEventSubscriptionKey);
    },
    async work() {
      const worker = push.worker('test', [], { pollMs: 20, beatMs: 200 });
      await worker.start();
      atTestEnd(() => worker.stop());
      return worker;
    },
    async events(count) {
      await served.write(`
insert into property select 'L' || (${written} + n), null, 1, 1 from generate_series(1, ${count}) n`);
      written += count;
      await served.number();
      return (await runtime.log.head()).head;
    },
    async dueNow(id) {
      await db.query({
        text: 'update pulsefeed.push_subscription set due_at = now() where id = $1',
        values: [id],
      });
    },
    caughtUp: id =>
      until(
        'the subscription to catch up',
        async () => {
          const { head } = await runtime.log.head();
          const { cursor_seq: cursor, batch_hi: frozen } = await row(id);
          return (cursor as bigint) >= head && frozen === null;
        },
        { withinMs: 15_000 },
      ).then(() => undefined),
    async outcomes(id) {
      const rows = await db.query<{ outcome: string }>({
        text: 'select outcome from pulsefeed.push_attempt where subscription_id = $1 order by id',
        values: [id],
      });
      return rows.map(({ outcome }) => outcome);
    },
  };
}
