import type { Queryable } from '../base/db/index.ts';
import type { Chance } from './chance.ts';
import { listingKey } from './sample-keys.ts';
import type { SampleState } from './sample-state.ts';

/** What one live edit works with. */
export interface EditScene {
  readonly tx: Queryable;
  readonly chance: Chance;
  readonly state: SampleState;
  readonly now: Date;
}

/** What an edit did. */
export interface Edited {
  /** For people: one line. */
  readonly text: string;
  /** How many listings there are more, or fewer. */
  readonly listings?: 1 | -1;
}

/** One kind of edit. Undefined when there was nothing in the sample that it fits. */
export type Edit = (scene: EditScene) => Promise<Edited | undefined>;

/** A listing as edits see it. */
export interface EditedListing {
  readonly key: string;
  readonly id: string;
  readonly status: string;
  readonly price: number;
  readonly originalPrice: number;
  readonly photos: number;
  readonly agentKey: string;
  readonly address: string;
  readonly city: string;
}

const columns = `"ListingKey" as key, "ListingId" as id, "StandardStatus" as status, "ListPrice"::float8 as price,
  "OriginalListPrice"::float8 as "originalPrice", "PhotosCount" as photos, "ListAgentKey" as "agentKey",
  "UnparsedAddress" as address, "City" as city`;

/**
 * Picks a listing in one of these statuses: the first one at or after the key of a random number, which costs one
 * look into the index however large the sample is.
 */
export async function pickListing(
  { tx, chance, state }: EditScene,
  statuses: readonly string[],
): Promise<EditedListing | undefined> {
  const from = listingKey(chance.below(state.nextListing));
  return (await firstListing(tx, statuses, from)) ?? (await firstListing(tx, statuses, ''));
}

async function firstListing(
  tx: Queryable,
  statuses: readonly string[],
  from: string,
): Promise<EditedListing | undefined> {
  const [row] = await tx.query<EditedListing>({
    text: `select ${columns} from public.property
      where "ListingKey" >= $1 and "StandardStatus" = any ($2::text[])
      order by "ListingKey" limit 1`,
    values: [from, [...statuses]],
  });
  return row;
}

/** Statuses of listings that are for sale or about to be. */
export const onMarket = ['Active', 'Active Under Contract', 'Pending', 'Coming Soon'];

/** Statuses that nothing follows: such listings are cleared away in the end. */
export const settled = ['Closed', 'Canceled', 'Expired', 'Withdrawn'];
