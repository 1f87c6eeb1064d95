import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '../base/db/index.ts';
import { chance } from './chance.ts';
import { insertRows } from './insert-rows.ts';
import { makeListing } from './listing.ts';
import { makeRoster } from './roster.ts';
import { createSampleState, type SampleState } from './sample-state.ts';
import { baseTime } from './sample-time.ts';
import { createReferences, createTables, type SampleRow, type SampleTable } from './tables.ts';

/** Which sample to make; the same answer always makes the same rows. */
export interface SampleOptions {
  readonly seed: number;
  /** How many listings; offices, members, photos and open houses come with them. */
  readonly listings: number;
}

/** The seed that the demo uses. */
export const demoSeed = 20_250_602;

/** Rows of one statement: large enough that round trips do not count, small enough that memory does not either. */
const rowsPerInsert = 1_000;
const listingsPerChunk = 500;

/** Some rows of one table, parents before children. */
export interface SampleChunk {
  readonly table: SampleTable;
  readonly rows: readonly SampleRow[];
  /** Listings that are whole once this chunk is inserted. */
  readonly listings: number;
}

/** Yields all rows of the sample in chunks that can be inserted in this order; only the roster is held in memory. */
export function* sampleChunks({ seed, listings }: SampleOptions): Generator<SampleChunk> {
  const roster = makeRoster(seed, listings);
  yield* chunks('office', roster.offices, 0);
  yield* chunks('member', roster.members, 0);
  for (let first = 0; first < listings; first += listingsPerChunk) {
    const end = Math.min(listings, first + listingsPerChunk);
    const made = [];
    for (let number = first; number < end; number += 1) {
      const draw = chance(seed, 'agents', number);
      const agents = { agent: draw.pick(roster.agents), buyerAgent: draw.pick(roster.agents) };
      made.push(makeListing({ seed, number, ...agents, time: baseTime }));
    }
    yield* chunks(
      'property',
      made.map(({ property }) => property),
      first,
    );
    yield* chunks(
      'media',
      made.flatMap(({ media }) => media),
      first,
    );
    yield* chunks(
      'open_house',
      made.flatMap(({ openHouses }) => openHouses),
      end,
    );
  }
}

function* chunks(table: SampleTable, rows: readonly SampleRow[], listings: number): Generator<SampleChunk> {
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    yield { table, rows: rows.slice(at, at + rowsPerInsert), listings };
  }
}

/**
 * Makes the tables and fills them, in one transaction: killed in the middle, nothing is there. Makes the schema
 * `pulsefeed_demo` besides, by which a later run knows the sample as its own.
 * @throws what the database says, such as that a table is there already; the signal's reason when it aborts.
 */
export async function createSample(
  db: Db,
  options: SampleOptions,
  onProgress: (listings: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<SampleState> {
  return db.transaction(async tx => {
    await tx.script(createTables);
    for (const { table, rows, listings } of sampleChunks(options)) {
      await insertRows(tx, table, rows);
      onProgress(listings);
      // The embedded database keeps the thread to itself: without a turn in between no signal would be heard.
      await nextTurn();
      signal?.throwIfAborted();
    }
    await tx.script(createReferences);
    onProgress(options.listings);
    return createSampleState(tx, options);
  });
}
