import type { Viewer } from '../base/auth/viewer.ts';
import type { CollectionPlan, EntityPage, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  defineEntityType,
  type EntityType,
  filterToSql,
  lowerBound,
  orderSql,
  primitive,
  seekItems,
  seekSql,
  type TypedValue,
} from '../edm/index.ts';
import {
  type EventLog,
  eventAlias,
  eventColumns,
  eventFeedTypes,
  maxSequence,
  type Pulse,
  type ReadQuery,
  type SqlFragment,
  type Standing,
} from '../log/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import type { RecordUrl } from './record-url.ts';

/** The feed as an entity set: read only, in the order of its numbers, each reader its own (RCP-027). */
export function entityEventSet(
  log: EventLog,
  policy: VisibilityPolicy,
  recordUrl: RecordUrl | undefined,
  feedTypes = false,
): EntitySet {
  const type = entityEventType(recordUrl !== undefined, feedTypes);
  const read = (viewer: Viewer, query: ReadQuery) =>
    policy.read(viewer, async ({ held }) => {
      const page = await log.read({ ...query, held, feedTypes });
      return { ruleVersion: page.ruleVersion, result: page };
    });
  return {
    name: 'EntityEvent',
    type,
    writable: false,
    async readPage(plan, viewer) {
      const found = await read(viewer, pageQuery(plan));
      const write = pulseWriter(plan, recordUrl, feedTypes);
      return {
        rows: found.pulses.slice(0, plan.limit).map(write),
        more: found.pulses.length > plan.limit,
        head: found.head,
        epoch: found.epoch,
        ...(found.count === undefined ? {} : { count: found.count }),
      } satisfies EntityPage;
    },
    async readOne([sequence = ''], plan, viewer) {
      const number = BigInt(sequence);
      if (number < 1n || number > maxSequence) return undefined;
      const where = { text: `${eventAlias}.seq = $1::bigint`, values: [number] };
      const { pulses } = await read(viewer, { where, above: number - 1n, upTo: number, limit: 1 });
      const [row] = pulses.map(pulseWriter(plan, recordUrl, feedTypes));
      // What a number stands for is fixed for ever (ONCE), and so is its tag; not so the feeds that its reader holds.
      return row && (feedTypes ? row : { ...row, etag: `W/"${sequence}"` });
    },
    async count(filter, viewer) {
      const none = { text: 'false', values: [] };
      const countWhere = filterFragment(filter, 1);
      const at = boundOf(filter);
      const standing = asksForOne(filter) ? {} : { standing: { at, origin: at } };
      const found = await read(viewer, { where: none, countWhere, countAbove: at, limit: 0, ...standing });
      return found.count ?? 0n;
    },
  };
}

/** RESO Data Dictionary 2.0, with the key not nullable as OData wants. */
function entityEventType(withUrl: boolean, withFeeds: boolean): EntityType {
  const text = (name: 'ResourceName' | 'ResourceRecordKey') => ({
    name,
    type: primitive('Edm.String'),
    nullable: false,
    maxLength: 255,
    column: eventColumns[name],
  });
  const sequence = {
    name: 'EntityEventSequence',
    type: primitive('Edm.Int64'),
    nullable: false,
    column: eventColumns.EntityEventSequence,
  };
  // Computed when a row is written; a filter sees null.
  const url = {
    name: 'ResourceRecordUrl',
    type: primitive('Edm.String'),
    nullable: true,
    maxLength: 8_000,
    column: () => 'null::text',
    annotations: { 'Core.Computed': true },
  };
  // RESO Data Dictionary 2.1.
  const feeds = {
    name: 'FeedTypes',
    type: { kind: 'collection' as const, of: primitive('Edm.String') },
    nullable: false,
    maxLength: 100,
    column: eventFeedTypes,
    annotations: { 'Core.Computed': true },
  };
  return defineEntityType({
    namespace: 'org.reso.metadata',
    name: 'EntityEvent',
    key: ['EntityEventSequence'],
    properties: [
      sequence,
      text('ResourceName'),
      text('ResourceRecordKey'),
      ...(withUrl ? [url] : []),
      ...(withFeeds ? [feeds] : []),
    ],
    navigation: [],
    table: { schema: 'pulsefeed', name: 'entity_event' },
  });
}

function pageQuery(plan: CollectionPlan): ReadQuery {
  const filter = filterFragment(plan.filter, 1);
  const origin = boundOf(plan.filter);
  const count = plan.count ? { countWhere: filter, countAbove: origin } : {};
  const page = { limit: plan.limit + 1, offset: plan.skip, ...count };
  const options = { alias: eventAlias, firstParameter: filter.values.length + 1 };
  const { items, values } = seekItems(plan.orderBy, options);
  const bound = [...filter.values, ...values];
  const seek =
    plan.after === undefined ? { text: 'true', values: [] } : seekSql(items, plan.after, bound.length + 1);
  const inLogOrder = items.length === 1 && items[0]?.descending === false;
  const newestFirst = items.length === 1 && items[0]?.descending === true;
  const after = inLogOrder ? BigInt(plan.after?.[0] ?? 0) : 0n;
  const above = higher(origin, after);
  const only = onlyNumber(plan.filter);
  return {
    ...page,
    above,
    ...(only === undefined ? {} : { upTo: only }),
    seekOnly: inLogOrder && isSeek(plan.filter),
    ...(asksForOne(plan.filter) ? {} : { standing: standingOf(plan, origin, after) }),
    where: { text: `${filter.text} and ${seek.text}`, values: [...bound, ...seek.values] },
    ...(inLogOrder ? {} : { orderBy: orderSql(items), newestFirst }),
    position: items.map(({ sql }) => `(${sql})::text`),
  };
}

/** The number above which every pulse of the answer lies, as far as the filter tells. */
function boundOf(filter: TypedValue | undefined): bigint {
  const bound = lowerBound(filter, sequenceName) ?? 0n;
  return bound < 0n ? 0n : bound > maxSequence ? maxSequence : bound;
}

const sequenceName = 'EntityEventSequence';

/** Where the reader stands. A page in another order than the log's is judged by where its filter begins and by its token. */
function standingOf({ begun }: CollectionPlan, origin: bigint, after: bigint): Standing {
  const at = higher(origin, after);
  if (begun === undefined) return { at, origin };
  const { epoch, head, scanned = 0n } = begun;
  return { at, origin, token: { epoch, head, told: [head, scanned, after].reduce(higher) } };
}

function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** True for no filter and for `EntityEventSequence gt N` or `ge N` alone: `boundOf` then says all of it. */
function isSeek(filter: TypedValue | undefined): boolean {
  if (filter === undefined) return true;
  return filter.kind === 'compare' && filter.op !== 'eq' && lowerBound(filter, sequenceName) !== undefined;
}

/** Who asks for single numbers by `eq` follows no walk. */
function asksForOne(filter: TypedValue | undefined): boolean {
  if (filter?.kind === 'and') return filter.operands.some(asksForOne);
  if (filter?.kind === 'or') return filter.operands.every(asksForOne);
  if (filter?.kind !== 'compare' || filter.op !== 'eq') return false;
  const { left, right } = filter;
  const field = left.kind === 'literal' ? right : left;
  return field.kind === 'field' && field.via.length === 0 && field.property.name === sequenceName;
}

/** The one number that can fulfil the filter, where an `eq` by itself or under `and` names it: none is sought beyond. */
function onlyNumber(filter: TypedValue | undefined): bigint | undefined {
  if (filter?.kind === 'and') return filter.operands.map(onlyNumber).find(number => number !== undefined);
  if (filter?.kind !== 'compare' || filter.op !== 'eq') return undefined;
  const bound = lowerBound(filter, sequenceName);
  return bound === undefined ? undefined : bound + 1n;
}

function filterFragment(filter: TypedValue | undefined, firstParameter: number): SqlFragment {
  return filter === undefined
    ? { text: 'true', values: [] }
    : filterToSql(filter, { alias: eventAlias, firstParameter });
}

/** Writes pulses as JSON text; the number goes from bigint to digits. */
function pulseWriter(
  plan: ShapePlan,
  recordUrl: RecordUrl | undefined,
  withFeeds: boolean,
): (pulse: Pulse) => EntityRow {
  const fields: Record<string, (pulse: Pulse) => string> = {
    EntityEventSequence: ({ sequence }) => (plan.ieee754 ? `"${sequence}"` : sequence.toString()),
    ResourceName: ({ resource }) => JSON.stringify(resource),
    ResourceRecordKey: ({ key }) => JSON.stringify(key),
    ...(recordUrl === undefined
      ? {}
      : { ResourceRecordUrl: ({ resource, key }) => JSON.stringify(recordUrl(resource, key, plan.root)) }),
    ...(withFeeds ? { FeedTypes: ({ feedTypes = [] }) => JSON.stringify(feedTypes) } : {}),
  };
  const selected = Object.entries(fields).filter(([name]) => plan.select?.includes(name) ?? true);
  return pulse => ({
    json: `{${selected.map(([name, write]) => `"${name}":${write(pulse)}`).join(',')}}`,
    key: [pulse.sequence.toString()],
    position: pulse.position,
  });
}
