import type { Queryable } from '../base/db/index.ts';

/** A worker that was seen lately. */
export interface AliveWorker {
  readonly id: bigint;
  readonly slots: number;
}

/** Says that a worker lives, under its id or a new one. @returns its id and all that live. */
export async function beat(
  db: Queryable,
  worker: {
    readonly id: bigint | undefined;
    readonly name: string;
    readonly slots: number;
    readonly busy: number;
    readonly delivered: number;
  },
  aliveMs: number,
): Promise<{ readonly id: bigint; readonly alive: readonly AliveWorker[] }> {
  const { id, name, slots, busy, delivered } = worker;
  const updated = await db.query<{ id: bigint }>({
    name: 'push_beat',
    text: `
update pulsefeed.push_worker
set busy = $2, delivered = $3, alive_until = clock_timestamp() + $4 * interval '1 millisecond'
where id = $1 returning id`,
    values: [id ?? null, busy, delivered, aliveMs],
  });
  const own =
    updated[0]?.id ??
    (
      await db.query<{ id: bigint }>({
        text: `
insert into pulsefeed.push_worker (name, slots, alive_until)
values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') returning id`,
        values: [name, slots, aliveMs],
      })
    )[0]?.id ??
    0n;
  const alive = await db.query<AliveWorker>({
    text: 'select id, slots from pulsefeed.push_worker where alive_until > clock_timestamp() order by id',
  });
  return { id: own, alive };
}

/** Gives up a worker's place; what it holds is free at once. */
export async function leave(db: Queryable, id: bigint): Promise<void> {
  await db.query({ text: 'delete from pulsefeed.push_worker where id = $1', values: [id] });
}
