import type { Chance } from './chance.ts';
import { nextWeekend } from './sample-time.ts';
import type { SampleRow } from './tables.ts';

/** The listing that a photo or an open house belongs to. */
export interface ListingRef {
  readonly key: string;
  readonly id: string;
  /** When the child was entered, as an ISO timestamp. */
  readonly entered: string;
}

const subjects = [
  'Front of Structure',
  'Living Room',
  'Kitchen',
  'Dining Room',
  'Master Bedroom',
  'Bathroom',
];
const others = [
  'Bedroom',
  'Back of Structure',
  'Deck',
  'Garden',
  'Laundry',
  'Garage',
  'Floor Plan',
  'Aerial View',
];

/** The row of a photo. @param index Its place among the listing's photos, from 0; the first one is preferred. */
export function makeMedia(chance: Chance, listing: ListingRef, index: number, key: string): SampleRow {
  const subject = subjects[index] ?? chance.pick(others);
  const upright = chance.happens(0.1);
  return {
    MediaKey: key,
    ResourceName: 'Property',
    ResourceRecordKey: listing.key,
    ResourceRecordID: listing.id,
    MediaCategory: subject === 'Floor Plan' ? 'Floor Plan' : 'Photo',
    MediaType: 'jpeg',
    MediaURL: `https://photos.example.com/${encodeURIComponent(listing.key)}/${encodeURIComponent(key)}.jpg`,
    Order: index + 1,
    PreferredPhotoYN: index === 0,
    ImageOf: subject,
    ImageWidth: upright ? 1_365 : 2_048,
    ImageHeight: upright ? 2_048 : 1_365,
    ShortDescription: chance.happens(0.3) ? `${subject} & more` : subject,
    ModificationTimestamp: listing.entered,
    MediaModificationTimestamp: listing.entered,
  };
}

const refreshments = ['Coffee & cookies', 'Crème brûlée', 'Lemonade', 'お茶 / tea'];

/** The row of an open house on the weekend after `time`. */
export function makeOpenHouse(
  chance: Chance,
  listing: ListingRef & { readonly agentKey: string; readonly time: Date },
  key: string,
): SampleRow {
  const { date, start, end } = nextWeekend(listing.time, chance);
  return {
    OpenHouseKey: key,
    OpenHouseId: key,
    ListingKey: listing.key,
    ListingId: listing.id,
    OpenHouseDate: date,
    OpenHouseStartTime: start,
    OpenHouseEndTime: end,
    OpenHouseStatus: 'Active',
    OpenHouseType: chance.happens(0.85) ? 'Public' : 'Broker',
    OpenHouseRemarks: chance.happens(0.5) ? "Please take off your shoes; the sellers' cat stays in." : null,
    Refreshments: chance.happens(0.4) ? chance.pick(refreshments) : null,
    ShowingAgentKey: listing.agentKey,
    OriginalEntryTimestamp: listing.entered,
    ModificationTimestamp: listing.entered,
  };
}
