import { type Edit, onMarket, pickListing } from './edit-scene.ts';
import { insertRows } from './insert-rows.ts';
import { makeMedia, makeOpenHouse } from './listing-children.ts';

/** About so many photos a listing keeps: the further from it, the likelier the step back. */
const usualPhotos = 7;

/** A photo is added to a listing or its last one removed; the listing's own count moves in the same transaction. */
export const changePhotos: Edit = async scene => {
  const { tx, chance, now, state } = scene;
  const listing = await pickListing(scene, onMarket);
  if (listing === undefined) return undefined;
  const removes = chance.below(usualPhotos * 2) < listing.photos && listing.photos > 1;
  if (removes) {
    await tx.query({
      text: `delete from public.media where "MediaKey" = (select "MediaKey" from public.media
        where "ResourceRecordKey" = $1 order by "Order" desc limit 1)`,
      values: [listing.key],
    });
  } else {
    const entered = now.toISOString();
    const key = `${listing.key}-E${state.edits + 1}`;
    const photo = makeMedia(chance, { ...listing, entered }, listing.photos, key);
    await insertRows(tx, 'media', [photo]);
  }
  const photos = listing.photos + (removes ? -1 : 1);
  await tx.query({
    text: `update public.property set "PhotosCount" = $2, "PhotosChangeTimestamp" = $3, "ModificationTimestamp" = $3
      where "ListingKey" = $1`,
    values: [listing.key, photos, now],
  });
  return { text: `${removes ? 'photo removed from' : 'new photo for'} ${listing.key}, now ${photos}` };
};

/** An open house is announced, or one is taken down again: about as often. */
export const changeOpenHouse: Edit = async scene => {
  const { tx, chance, now, state } = scene;
  const listing = await pickListing(scene, ['Active']);
  const [old] = await tx.query<{ key: string; of: string }>({
    text: `select "OpenHouseKey" as key, "ListingKey" as of from public.open_house
      order by "OpenHouseDate", "OpenHouseKey" limit 1`,
  });
  const [own] = await tx.query<{ key: string; of: string }>({
    text: 'select "OpenHouseKey" as key, "ListingKey" as of from public.open_house where "ListingKey" = $1 limit 1',
    values: [listing?.key ?? ''],
  });
  const gone = own ?? (chance.happens(0.5) ? old : undefined);
  if (gone !== undefined) {
    await tx.query({
      text: 'delete from public.open_house where "OpenHouseKey" = $1',
      values: [gone.key],
    });
    return { text: `open house at ${gone.of} taken down` };
  }
  if (listing === undefined) return undefined;
  const about = { ...listing, entered: now.toISOString(), time: now };
  const row = makeOpenHouse(chance, about, `${listing.key}-OH-E${state.edits + 1}`);
  await insertRows(tx, 'open_house', [row]);
  return { text: `open house at ${listing.key} on ${String(row.OpenHouseDate)}` };
};
