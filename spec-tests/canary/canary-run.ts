import { headOf } from '../feed/walk.ts';
import type { Agent } from '../http/agent.ts';
import type { Clock } from '../http/clock.ts';
import { type JsonObject, writeExactJson } from '../http/exact-json.ts';
import type { Exchange } from '../http/exchange.ts';
import { Unexercised } from '../rule.ts';
import type { Service } from '../service/metadata.ts';
import type { CanarySettings } from '../settings.ts';
import { type Canary, CanaryWriter, eventPath } from './canary-writer.ts';
import { Follower, type Sighting } from './follower.ts';

/** One write and the event that it caused. */
export type CanaryStep = {
  what: string;
  canary: Canary;
  write: Exchange;
  headBefore: bigint;
  sighting: Sighting;
};

/** What happened to a parent record and its child. */
type Family = {
  parent: CanaryStep;
  child: CanaryStep;
  removal?: { parent: CanaryStep; child: Sighting; childRead: Exchange };
};

/** All that the rules of the full mode look at. */
export type CanaryRun = {
  created: CanaryStep;
  /** Two creations, one request after the other, with no waiting in between. */
  pair: [CanaryStep, CanaryStep];
  updated: CanaryStep & { fields: JsonObject; readAfter: Exchange };
  deleted: CanaryStep & { readAfter: Exchange };
  family?: Family;
  /** Attempts to write into the log itself; each touches no row but the canary's own. */
  logWrites: Exchange[];
};

type Parts = { http: Agent; writer: CanaryWriter; follower: Follower };

/**
 * Creates, updates and deletes canary records one after the other and waits for the event of each write. Removes what
 * is left, also when it fails half-way.
 * @throws Unexercised when the server takes no writes.
 */
export async function runCanaries(
  http: Agent,
  clock: Clock,
  service: Service,
  settings: CanarySettings & { waitMs: number; pollMs: number },
  runId: string,
): Promise<CanaryRun> {
  const writer = new CanaryWriter(http, service, settings, runId);
  const head = await headOf(http);
  if (head === undefined)
    throw new Unexercised('the head of the log cannot be read ($orderby and $top on EntityEvent)');
  const parts = { http, writer, follower: new Follower(http, clock, settings, head) };
  try {
    return await play(parts, runId);
  } finally {
    await writer.removeAll();
  }
}

async function play(parts: Parts, runId: string): Promise<CanaryRun> {
  const { writer, http } = parts;
  const headAtStart = parts.follower.cursor;
  const first = await writer.create();
  const created = await watch(parts, 'create', first, first.write, headAtStart);
  const pair = await createPair(parts);
  const change = await writer.update(first, `changed by ${runId}`);
  const beforeUpdate = created.sighting.event?.sequence ?? headAtStart;
  const updated = await watch(parts, 'update', first, change.write, beforeUpdate);
  const readAfter = await writer.read(first);
  const logWrites = await writeToLog(http, created.sighting.event?.sequence);
  const family = await raiseFamily(parts);
  const beforeDelete = updated.sighting.event?.sequence ?? parts.follower.cursor;
  const removal = await writer.remove(first);
  const deleted = await watch(parts, 'delete', first, removal, beforeDelete);
  const run: CanaryRun = {
    created,
    pair,
    updated: { ...updated, fields: change.fields, readAfter },
    deleted: { ...deleted, readAfter: await writer.read(first) },
    logWrites,
  };
  return family === undefined ? run : { ...run, family };
}

async function watch(
  parts: Parts,
  what: string,
  canary: Canary,
  write: Exchange,
  after: bigint,
): Promise<CanaryStep> {
  const headBefore = parts.follower.cursor;
  const sighting = await parts.follower.waitFor(canary.resource, canary.key, after);
  return { what: `${what} ${canary.resource} '${canary.key}'`, canary, write, headBefore, sighting };
}

async function createPair(parts: Parts): Promise<[CanaryStep, CanaryStep]> {
  const head = parts.follower.cursor;
  const earlier = await parts.writer.create();
  const later = await parts.writer.create();
  return [
    await watch(parts, 'create', earlier, earlier.write, head),
    await watch(parts, 'create', later, later.write, head),
  ];
}

async function writeToLog(http: Agent, own: bigint | undefined): Promise<Exchange[]> {
  const body = writeExactJson({ ResourceName: 'Property', ResourceRecordKey: 'canary-no-such-record' });
  const attempts = [await http.send('EntityEvent', { method: 'POST', body })];
  if (own === undefined) return attempts;
  const change = writeExactJson({ ResourceRecordKey: 'canary-no-such-record' });
  attempts.push(await http.send(eventPath(own), { method: 'PATCH', body: change }));
  attempts.push(await http.send(eventPath(own), { method: 'DELETE' }));
  return attempts;
}

async function raiseFamily(parts: Parts): Promise<Family | undefined> {
  const { writer, follower } = parts;
  if (writer.childOf({ resource: writer.resource, key: '', write: noExchange }) === undefined)
    return undefined;
  const head = follower.cursor;
  const parent = await writer.create();
  const form = writer.childOf(parent);
  if (form === undefined) return undefined;
  let child: Canary;
  try {
    child = await writer.create(form.resource, form.fields);
  } catch (error) {
    if (error instanceof Unexercised) return undefined;
    throw error;
  }
  const family: Family = {
    parent: await watch(parts, 'create', parent, parent.write, head),
    child: await watch(parts, 'create', child, child.write, head),
  };
  const born = follower.cursor;
  const write = await writer.remove(parent);
  const gone = await watch(parts, 'delete', parent, write, born);
  const childRead = await writer.read(child);
  const known = follower.events.filter(event => event.key === child.key && event.resource === child.resource);
  const last = known.filter(event => event.sequence > born).at(0);
  // A server without cascades leaves the child alone; then there is no event of it to wait for.
  const served = childRead.status === 200;
  const childGone: Sighting =
    last !== undefined
      ? { event: last, place: 'above' }
      : served
        ? { place: 'nowhere' }
        : await follower.waitFor(child.resource, child.key, born);
  return { ...family, removal: { parent: gone, child: childGone, childRead } };
}

const noExchange: Exchange = {
  method: 'POST',
  url: '',
  requestHeaders: {},
  status: 0,
  headers: {},
  text: '',
  durationMs: 0,
};
