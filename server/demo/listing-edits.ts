import { type Edit, type EditedListing, onMarket, pickListing, settled } from './edit-scene.ts';
import { insertRows } from './insert-rows.ts';
import { makeListing, mlsStatuses, rounded } from './listing.ts';
import { pickAgent } from './roster-edits.ts';
import { dateAfter } from './sample-time.ts';

/** A price goes down a little, now and then up. It stays near the first price, however long the demo runs. */
export const changePrice: Edit = async scene => {
  const listing = await pickListing(scene, ['Active', 'Coming Soon']);
  if (listing === undefined) return undefined;
  const { chance } = scene;
  const low = listing.price < listing.originalPrice * 0.8;
  const up = low || (listing.price < listing.originalPrice * 1.1 && chance.happens(0.2));
  const step = Math.max(1_000, rounded(listing.price * (chance.between(10, 40) / 1_000)));
  const price = up ? listing.price + step : Math.max(1_000, listing.price - step);
  await scene.tx.query({
    text: `update public.property set "PreviousListPrice" = "ListPrice", "ListPrice" = $2,
        "MajorChangeType" = 'Price Change', "PriceChangeTimestamp" = $3, "ModificationTimestamp" = $3
      where "ListingKey" = $1`,
    values: [listing.key, price, scene.now],
  });
  return { text: `price of ${name(listing)}: ${dollars(listing.price)} -> ${dollars(price)}` };
};

type Moves = Readonly<
  Record<string, readonly (readonly [status: keyof typeof mlsStatuses, weight: number])[]>
>;

/** Where a listing goes from each status; every one leads back to Active, so the market does not dry up. */
const moves: Moves = {
  'Coming Soon': [['Active', 1]],
  Active: [
    ['Active Under Contract', 3],
    ['Pending', 4],
    ['Hold', 1],
    ['Withdrawn', 1],
  ],
  'Active Under Contract': [
    ['Pending', 2],
    ['Active', 1],
  ],
  Pending: [['Active', 1]],
  Hold: [['Active', 1]],
  Withdrawn: [['Active', 1]],
};

/** A status changes: a contract is signed, a deal falls through, a seller pauses. */
export const changeStatus: Edit = async scene => {
  const listing = await pickListing(scene, Object.keys(moves));
  const choices = moves[listing?.status ?? ''];
  if (listing === undefined || choices === undefined) return undefined;
  const status = scene.chance.weighted(choices);
  const under = status === 'Active Under Contract' || status === 'Pending';
  const back = status === 'Active' && listing.status !== 'Coming Soon';
  await scene.tx.query({
    text: `update public.property set "StandardStatus" = $2, "MlsStatus" = $3, "MajorChangeType" = $4,
        "PurchaseContractDate" = case when $5 then coalesce("PurchaseContractDate", $6::date) end,
        "WithdrawnDate" = case when $8 then $6::date end,
        "StatusChangeTimestamp" = $7, "ModificationTimestamp" = $7
      where "ListingKey" = $1`,
    values: [
      listing.key,
      status,
      mlsStatuses[status],
      back ? 'Back On Market' : status,
      under,
      dateAfter(scene.now, 0),
      scene.now,
      status === 'Withdrawn',
    ],
  });
  return { text: `status of ${name(listing)}: ${listing.status} -> ${status}` };
};

/** A pending sale closes. */
export const closeSale: Edit = async scene => {
  const listing = await pickListing(scene, ['Pending']);
  const buyer = await pickAgent(scene);
  if (listing === undefined || buyer === undefined) return undefined;
  const price = rounded(listing.price * scene.chance.around(0.995, 0.03));
  await scene.tx.query({
    text: `update public.property set "StandardStatus" = 'Closed', "MlsStatus" = $2, "MajorChangeType" = 'Closed',
        "ClosePrice" = $3, "CloseDate" = $4, "BuyerAgentKey" = $5, "BuyerOfficeKey" = $6,
        "StatusChangeTimestamp" = $7, "ModificationTimestamp" = $7
      where "ListingKey" = $1`,
    values: [
      listing.key,
      mlsStatuses.Closed,
      price,
      dateAfter(scene.now, 0),
      buyer.key,
      buyer.officeKey,
      scene.now,
    ],
  });
  return { text: `sold for ${dollars(price)}: ${name(listing)}` };
};

/** The seller changes whether the listing may be shown on the web: about as often to yes as to no. */
export const changeDisplay: Edit = async scene => {
  const shown = scene.chance.happens(0.5);
  const [hidden] = await scene.tx.query<{ key: string }>({
    text: `select "ListingKey" as key from public.property where not "InternetEntireListingDisplayYN"
      order by "ListingKey" limit 1`,
  });
  const listing = await pickListing(scene, onMarket);
  const key = shown ? hidden?.key : listing?.key;
  if (key === undefined) return undefined;
  await scene.tx.query({
    text: `update public.property set "InternetEntireListingDisplayYN" = $2, "ModificationTimestamp" = $3
      where "ListingKey" = $1`,
    values: [key, shown, scene.now],
  });
  return { text: `${key} ${shown ? 'may be shown' : 'is no longer shown'} on the web` };
};

/** A new listing with its photos. */
export const addListing: Edit = async scene => {
  const { tx, state, now } = scene;
  const agent = await pickAgent(scene);
  if (agent === undefined) return undefined;
  const order = { seed: state.seed, number: state.nextListing, agent, buyerAgent: agent, time: now };
  const { property, media, openHouses } = makeListing({ ...order, fresh: true });
  await insertRows(tx, 'property', [property]);
  await insertRows(tx, 'media', media);
  await insertRows(tx, 'open_house', openHouses);
  return {
    text: `new: ${String(property.ListingKey)}, ${String(property.UnparsedAddress)}, ${media.length} photos`,
    listings: 1,
  };
};

/** A listing that is settled is deleted; its photos and open houses go with it. */
export const deleteListing: Edit = async scene => {
  const listing = (await pickListing(scene, settled)) ?? (await pickListing(scene, onMarket));
  if (listing === undefined) return undefined;
  await scene.tx.query({
    text: 'delete from public.property where "ListingKey" = $1',
    values: [listing.key],
  });
  return { text: `deleted: ${name(listing)}, with ${listing.photos} photos`, listings: -1 };
};

function name(listing: EditedListing): string {
  return `${listing.key} (${listing.address})`;
}

function dollars(amount: number): string {
  return `$${amount.toLocaleString('en-US')}`;
}
