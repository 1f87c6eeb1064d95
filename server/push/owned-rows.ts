import type { Viewer } from '../base/auth/viewer.ts';
import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityPage, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  columnSql,
  type EntityType,
  filterToSql,
  orderSql,
  type Property,
  seekItems,
  seekSql,
  tableSql,
} from '../edm/index.ts';
import { anonymousConsumer } from '../visibility/index.ts';

const alias = 't';
const quoted = '"t"';

/** SQL with its values growing as it is written. */
interface Values {
  readonly values: unknown[];
  bind(value: unknown, cast: string): string;
}

function startValues(): Values {
  const values: unknown[] = [];
  return { values, bind: (value, cast) => `$${values.push(value)}::${cast}` };
}

/** Texts that are shown once, by the name of their property. */
export type Shown = Readonly<Record<string, string>>;

/**
 * The reading half of an entity set whose rows belong to consumers: each sees its own, whoever has the scope `admin` sees
 * all, and what belongs to another is answered as what never was.
 */
export function ownedRows(
  db: Queryable,
  type: EntityType,
): Pick<EntitySet, 'readPage' | 'readOne' | 'count'> {
  return {
    async readPage(plan, viewer): Promise<EntityPage> {
      const w = startValues();
      const where = [ownSql(viewer, w)];
      if (plan.filter !== undefined) {
        const filter = filterToSql(plan.filter, { alias, firstParameter: w.values.length + 1 });
        w.values.push(...filter.values);
        where.push(filter.text);
      }
      const count = plan.count ? await countRows(db, type, where.join(' and '), w.values) : undefined;
      const order = seekItems(plan.orderBy, { alias, firstParameter: w.values.length + 1 });
      w.values.push(...order.values);
      if (plan.after !== undefined) {
        const seek = seekSql(order.items, plan.after, w.values.length + 1);
        w.values.push(...seek.values);
        where.push(seek.text);
      }
      const rows = await db.query<{ json: string; key: string; position: (string | null)[] }>({
        text: `
select ${jsonSql(type, plan, {}, w)} as json, ${keySql(type)} as key,
  array[${order.items.map(({ sql }) => `(${sql})::text`).join(', ')}]::text[] as position
from ${tableSql(type.table)} ${alias}
where ${where.join(' and ')}
order by ${orderSql(order.items)}
limit ${w.bind(plan.limit + 1, 'bigint')} offset ${w.bind(plan.skip, 'bigint')}`,
        values: w.values,
      });
      return {
        rows: rows.slice(0, plan.limit).map(({ json, key, position }) => ({ json, key: [key], position })),
        more: rows.length > plan.limit,
        ...(count === undefined ? {} : { count }),
      };
    },
    readOne: ([key = ''], plan, viewer) => readOwned(db, type, key, plan, viewer),
    async count(filter, viewer) {
      const w = startValues();
      const where = [ownSql(viewer, w)];
      if (filter !== undefined) {
        const { text, values } = filterToSql(filter, { alias, firstParameter: w.values.length + 1 });
        w.values.push(...values);
        where.push(text);
      }
      return countRows(db, type, where.join(' and '), w.values);
    },
  };
}

/** One row, if it is the viewer's. @param shown Texts that this answer alone shows. */
export async function readOwned(
  db: Queryable,
  type: EntityType,
  key: string,
  plan: ShapePlan,
  viewer: Viewer,
  shown: Shown = {},
): Promise<EntityRow | undefined> {
  const w = startValues();
  const json = jsonSql(type, plan, shown, w);
  const [row] = await db.query<{ json: string; key: string }>({
    text: `
select ${json} as json, ${keySql(type)} as key
from ${tableSql(type.table)} ${alias}
where ${keySql(type)} = ${w.bind(key, 'text')} and ${ownSql(viewer, w)}`,
    values: w.values,
  });
  return row === undefined ? undefined : { json: row.json, key: [row.key], position: [] };
}

/**
 * Id of the consumer that a viewer is. @throws EE-200 for whoever has no identity, also where everybody may read: what
 * anybody could own, anybody could redirect.
 */
export function consumerOf({ consumerId, consumer }: Viewer): number {
  if (consumerId !== undefined && consumer !== anonymousConsumer) return consumerId;
  throw new PulsefeedError('EE-200', 'Push is for consumers: send Authorization: Bearer.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="pulsefeed"' },
  });
}

/** The consumer whose rows the viewer may touch; null for an operator, who may touch all. @throws EE-200 */
export function ownerOf(viewer: Viewer): number | null {
  return viewer.scopes.has('admin') ? null : consumerOf(viewer);
}

function ownSql(viewer: Viewer, w: Values): string {
  const owner = ownerOf(viewer);
  return owner === null ? 'true' : `${alias}.consumer_id = ${w.bind(owner, 'integer')}`;
}

async function countRows(
  db: Queryable,
  type: EntityType,
  where: string,
  values: readonly unknown[],
): Promise<bigint> {
  const [row] = await db.query<{ count: bigint }>({
    text: `select count(*) as count from ${tableSql(type.table)} ${alias} where ${where}`,
    values: [...values],
  });
  return row?.count ?? 0n;
}

function keySql(type: EntityType): string {
  const key = type.properties.find(({ name }) => name === type.key[0]);
  return key === undefined ? 'null' : columnSql(key.column, quoted);
}

/** The row as a JSON object, written by the database: an Int64 goes from bigint to digits. */
function jsonSql(type: EntityType, plan: ShapePlan, shown: Shown, w: Values): string {
  const members = type.properties
    .filter(({ name }) => plan.select?.includes(name) ?? true)
    .map(property => {
      const text = shown[property.name];
      const value =
        text === undefined ? valueSql(property, plan.ieee754) : `to_json(${w.bind(text, 'text')})`;
      const written = plan.omitNulls ? `${value}::text` : `coalesce(${value}::text, 'null')`;
      return `'"${property.name}":' || ${written}`;
    });
  // concat_ws leaves nulls out, which is what omit-values=nulls asks for.
  return `'{' || concat_ws(',', ${members.join(', ')}) || '}'`;
}

function valueSql({ column, type }: Property, ieee754: boolean): string {
  const sql = columnSql(column, quoted);
  if (type.kind !== 'primitive') return `to_json(${sql})`;
  if (type.name === 'Edm.Int64' && ieee754) return `to_json((${sql})::text)`;
  if (type.name === 'Edm.DateTimeOffset')
    return `to_json(to_char((${sql}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
  return `to_json(${sql})`;
}
