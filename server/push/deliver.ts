import type { PostResult } from './answers.ts';
import type { Claimed } from './claim-sql.ts';
import { type Credential, identityOf } from './credential.ts';
import { decide, type Settlement, type Tried } from './decide.ts';
import { singleBody } from './envelope.ts';
import { expandedBody, message, type ReadRecords } from './message.ts';
import type { TokenStore } from './oauth-token.ts';
import type { Planned } from './plan-batches.ts';
import type { Seal } from './seal.ts';
import type { Sender } from './sender.ts';
import type { Settled } from './settle-sql.ts';
import { createSigner, type Signer, type SigningSecret } from './signing.ts';

/** What deliveries share. */
export interface DeliveryParts {
  readonly seal: Seal;
  readonly sender: Sender;
  readonly tokens: TokenStore;
  readonly readRecords: ReadRecords | undefined;
  readonly timeoutMs: number;
  /** Milliseconds since 1970, for timestamps in messages; never for leases. */
  readonly now: () => number;
  readonly random: () => number;
}

/** A delivery that has ended. */
export interface Delivered {
  readonly settled: Settled;
  readonly result: PostResult;
  readonly bytes: number;
  readonly ms: number;
}

const mostKept = 20_000;

/** What a subscription's text forms stand for, kept: opening secrets and deriving keys costs more than signing. */
export class OpenSecrets {
  readonly #signers = new Map<string, Signer>();
  readonly #credentials = new Map<string, Credential>();
  readonly #urls = new Map<string, URL>();

  /** The URL, parsed once. */
  url(text: string): URL {
    const known = this.#urls.get(text);
    if (known !== undefined) return known;
    if (this.#urls.size >= mostKept) this.#urls.clear();
    const url = new URL(text);
    this.#urls.set(text, url);
    return url;
  }

  signer(seal: Seal, claimed: Claimed): Signer {
    const { id, version, previousSecret, secret, signature } = claimed;
    const name = `${id} ${version} ${previousSecret === null ? 1 : 2}`;
    const known = this.#signers.get(name);
    if (known !== undefined) return known;
    const secrets = [secret, ...(previousSecret === null ? [] : [previousSecret])].map(sealed =>
      seal.open<SigningSecret>(id, sealed),
    );
    if (this.#signers.size >= mostKept) this.#signers.clear();
    const signer = createSigner(secrets, signature);
    this.#signers.set(name, signer);
    return signer;
  }

  credential(seal: Seal, { credentialId, credential }: Claimed): Credential | undefined {
    if (credentialId === null || credential === null) return undefined;
    const known = this.#credentials.get(credentialId);
    if (known !== undefined) return known;
    if (this.#credentials.size >= mostKept) this.#credentials.clear();
    const opened = seal.open<Credential>(credentialId, credential);
    this.#credentials.set(credentialId, opened);
    return opened;
  }
}

/** One POST of a claimed batch, and what it comes to. @throws only what reading records or opening secrets throws. */
export async function deliver(
  parts: DeliveryParts,
  secrets: OpenSecrets,
  planned: Planned,
  claimed: Claimed,
): Promise<Delivered> {
  const { seal, sender, timeoutMs, now } = parts;
  const credential = secrets.credential(seal, claimed);
  const startedAt = performance.now();
  const authorization = await authorize(parts, claimed, credential);
  let bytes = 0;
  let result: PostResult;
  if (typeof authorization === 'object') result = authorization;
  else {
    const body = await bodyOf(parts, planned, claimed);
    const id =
      planned.letter === undefined ? webhookId(claimed) : `${claimed.id}.letter.${planned.letter.id}`;
    const { headers } = message({
      id,
      body,
      authorization,
      source: claimed.source,
      signer: secrets.signer(seal, claimed),
      timestampS: Math.floor(now() / 1_000),
    });
    bytes = body.length;
    result = await sender.post({
      url: secrets.url(claimed.callbackUrl),
      headers,
      body,
      timeoutMs,
      identity: identityOf(credential),
    });
  }
  const ms = performance.now() - startedAt;
  const tried = triedOf(planned, claimed, credential);
  const settlement = decide(tried, result, ms, now(), parts.random());
  return { settled: settledOf(planned, claimed, settlement, result, bytes, ms), result, bytes, ms };
}

async function authorize(
  { tokens }: DeliveryParts,
  { credentialId, tokenRefreshed }: Claimed,
  credential: Credential | undefined,
): Promise<string | undefined | PostResult> {
  if (credential?.type === 'bearer') return `Bearer ${credential.token}`;
  if (credential?.type !== 'client_credentials') return undefined;
  const answer = await tokens.token(credentialId ?? '', credential, tokenRefreshed);
  return 'failure' in answer ? answer.failure : `Bearer ${answer.token}`;
}

async function bodyOf({ readRecords }: DeliveryParts, planned: Planned, claimed: Claimed): Promise<Buffer> {
  const { events, count, due } = planned;
  const single = claimed.maxEvents === 1 && count === 1;
  if (claimed.expandRecord && readRecords !== undefined) {
    return Buffer.from(await expandedBody(due.consumerId, events(), single, readRecords));
  }
  return single ? Buffer.from(singleBody(events()[0]?.fields ?? '')) : planned.body();
}

/**
 * Stable over all tries of a frozen batch and new for every other one, from nothing but what the batch is: the window,
 * the number of its events when it was frozen, the generation of the subscription (a seek begins another, so that a replay
 * is not taken for a repetition) and the epoch (a restored database hands out its numbers again). Nothing has to be counted
 * up for it, so that nothing is repeated when the database loses its last moments.
 */
export function webhookId({ id, epoch, generation, cursor, hi, count }: Claimed): string {
  return `${id}.${epoch}.${generation}.${cursor}-${hi}.${count}`;
}

/** What the decision rests on. */
export function triedOf(planned: Planned, claimed: Claimed, credential: Credential | undefined): Tried {
  const { due, wanted, count, letter } = planned;
  return {
    cursor: due.cursor,
    batchHi: wanted.hi,
    events: count,
    attempt: claimed.attempt,
    // A dead letter that is sent again is refused once and dead again.
    rejections: letter === undefined ? claimed.rejections : 0,
    rejectTries: letter === undefined ? claimed.rejectTries : 1,
    onRejected: letter === undefined ? claimed.onRejected : 'dead-letter',
    failures: claimed.failures,
    failingForS: claimed.failingForS,
    suspectHi: claimed.suspectHi ?? undefined,
    batchLimit: claimed.batchLimit ?? undefined,
    maxEvents: claimed.maxEvents,
    retrySchedule: claimed.retrySchedule,
    retryForS: claimed.retryForS,
    refreshable: credential?.type === 'client_credentials',
    tokenRefreshed: claimed.tokenRefreshed,
    intervalMs: claimed.requestsPerMinute === 0 ? 0 : 60_000 / claimed.requestsPerMinute,
  };
}

/** What is written for a try. */
export function settledOf(
  planned: Planned,
  claimed: Claimed,
  settlement: Settlement,
  result: PostResult | undefined,
  bytes: number,
  ms: number,
): Settled {
  const { due, wanted, count, letter } = planned;
  const status = result?.kind === 'answer' ? result.status : undefined;
  const written = {
    id: claimed.id,
    token: claimed.token,
    attempt: {
      attempt: claimed.attempt,
      after: due.cursor,
      upTo: wanted.hi,
      events: count,
      bytes,
      status,
      ms,
    },
    next: undefined,
  };
  if (letter !== undefined) {
    const state = settlement.outcome === 'delivered' ? 'sent' : settlement.deadLetter ? 'dead' : 'queued';
    return {
      ...written,
      settlement: besideTheBatch(settlement, due.cursor, claimed),
      dead: undefined,
      letter: { id: letter.id, state },
    };
  }
  const excerpt = result === undefined ? '' : result.kind === 'answer' ? result.excerpt : result.detail;
  const event = settlement.deadLetter ? planned.events()[0] : undefined;
  const dead =
    event !== undefined
      ? { seq: event.sequence, resource: event.resource, key: event.key, excerpt: printable(excerpt) }
      : undefined;
  return { ...written, settlement, dead, letter: undefined };
}

/** A dead letter goes beside the batches: the cursor and whatever is frozen stay as they are. */
function besideTheBatch(settlement: Settlement, cursor: bigint, claimed: Claimed): Settlement {
  return {
    ...settlement,
    cursor,
    thaw: false,
    rejections: claimed.rejections,
    batchLimit: claimed.batchLimit ?? undefined,
    suspectHi: claimed.suspectHi ?? undefined,
  };
}

/** Control characters out: an excerpt is shown on terminals, and NUL cannot be stored. */
function printable(text: string): string {
  return text.replace(/[^\P{C}\n]|\p{Cs}/gu, ' ');
}
