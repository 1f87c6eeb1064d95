import type { Db, Queryable } from '../base/db/index.ts';
import { sampleTables } from './tables.ts';

/** What the demo keeps about its sample, so that the next run goes on where this one stops. */
export interface SampleState {
  readonly seed: number;
  /** Listings that it was made with. */
  readonly listings: number;
  /** Number of the next new listing. */
  readonly nextListing: number;
  /** Live edits made so far; each draws its choices from its number. */
  readonly edits: number;
}

/** What is in a database: our sample, nothing, or something that the demo must leave alone. */
export type FoundSample =
  | { readonly kind: 'sample'; readonly state: SampleState }
  | { readonly kind: 'none' }
  | { readonly kind: 'foreign'; readonly what: string };

/** Makes the table that marks the sample as the demo's own. */
export async function createSampleState(
  tx: Queryable,
  sample: { readonly seed: number; readonly listings: number },
): Promise<SampleState> {
  await tx.script(`
    create schema pulsefeed_demo;
    create table pulsefeed_demo.sample (
      id smallint primary key default 1 check (id = 1),
      seed integer not null,
      listings integer not null,
      next_listing integer not null,
      edits integer not null
    )`);
  const { seed, listings } = sample;
  await tx.query({
    text: 'insert into pulsefeed_demo.sample (seed, listings, next_listing, edits) values ($1, $2, $2, 0)',
    values: [seed, listings],
  });
  return { seed, listings, nextListing: listings, edits: 0 };
}

/** @throws Error when the sample is not there. */
export async function readSampleState(db: Queryable): Promise<SampleState> {
  const [row] = await db.query<SampleState>({
    text: 'select seed, listings, next_listing as "nextListing", edits from pulsefeed_demo.sample',
  });
  if (row === undefined) throw new Error('The sample is not there.');
  return row;
}

/** Keeps the state; in the transaction of the edit that moved it. */
export async function writeSampleState(tx: Queryable, state: SampleState): Promise<void> {
  await tx.query({
    text: 'update pulsefeed_demo.sample set next_listing = $1, edits = $2',
    values: [state.nextListing, state.edits],
  });
}

/** Looks whether the sample is there, and whether the database holds data of somebody else. */
export async function findSample(db: Db): Promise<FoundSample> {
  const [found] = await db.query<{ sample: boolean; log: boolean; tables: string[] }>({
    text: `select to_regclass('pulsefeed_demo.sample') is not null as sample,
      to_regclass('pulsefeed.log_head') is not null as log,
      array(select name from unnest($1::text[]) name where to_regclass('public.' || name) is not null) as tables`,
    values: [[...sampleTables]],
  });
  if (found?.sample === true) return { kind: 'sample', state: await readSampleState(db) };
  const table = found?.tables[0];
  if (table !== undefined) return { kind: 'foreign', what: `a table public.${table}` };
  if (found?.log === true && (await hasEvents(db))) return { kind: 'foreign', what: 'a feed' };
  return { kind: 'none' };
}

async function hasEvents(db: Db): Promise<boolean> {
  const rows = await db.query({ text: 'select 1 from pulsefeed.log_head where last_seq > 0' });
  return rows.length > 0;
}
