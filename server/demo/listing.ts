import { type Chance, chance } from './chance.ts';
import { type Dwelling, pickDwelling } from './dwelling.ts';
import { makeMedia, makeOpenHouse } from './listing-children.ts';
import { pickPlace, pickStreet, placeOf } from './places.ts';
import { writeRemarks } from './remarks.ts';
import type { Agent } from './roster.ts';
import { listingKey } from './sample-keys.ts';
import { ago, dateAfter } from './sample-time.ts';
import type { SampleRow } from './tables.ts';

/** A listing with its children, parents first. */
export interface Listing {
  readonly property: SampleRow;
  readonly media: readonly SampleRow[];
  readonly openHouses: readonly SampleRow[];
}

/** What a listing is made from. */
export interface ListingOrder {
  readonly seed: number;
  readonly number: number;
  readonly agent: Agent;
  /** Whose client buys it, should it be sold. */
  readonly buyerAgent: Agent;
  /** Nothing in the listing happened later. */
  readonly time: Date;
  /** True: entered at `time` and Active. Otherwise it is of some age and in any status. */
  readonly fresh?: boolean;
}

type Status =
  | 'Active'
  | 'Active Under Contract'
  | 'Pending'
  | 'Closed'
  | 'Coming Soon'
  | 'Withdrawn'
  | 'Expired'
  | 'Canceled'
  | 'Hold';

/** What one local system calls the standard statuses. */
export const mlsStatuses: Readonly<Record<Status, string>> = {
  Active: 'Active',
  'Active Under Contract': 'Contingent',
  Pending: 'Pending',
  Closed: 'Sold',
  'Coming Soon': 'Coming Soon',
  Withdrawn: 'Temporarily Off Market',
  Expired: 'Expired',
  Canceled: 'Canceled',
  Hold: 'Hold',
};

const shares: readonly (readonly [status: Status, weight: number])[] = [
  ['Active', 39],
  ['Active Under Contract', 5],
  ['Pending', 11],
  ['Closed', 31],
  ['Coming Soon', 3],
  ['Withdrawn', 3],
  ['Expired', 3],
  ['Canceled', 3],
  ['Hold', 2],
];

/** Days since the listing was signed, from and to, by status. */
const ages: Readonly<Record<Status, readonly [number, number]>> = {
  Active: [1, 90],
  'Active Under Contract': [8, 80],
  Pending: [10, 80],
  Closed: [60, 400],
  'Coming Soon': [1, 12],
  Withdrawn: [20, 160],
  Expired: [185, 300],
  Canceled: [20, 200],
  Hold: [5, 60],
};

/** Makes listing `number`; the same order always gives the same listing. */
export function makeListing(order: ListingOrder): Listing {
  const draw = chance(order.seed, 'listing', order.number);
  const key = listingKey(order.number);
  const id = String(2_400_000 + order.number);
  const place = draw.happens(0.7) ? placeOf(order.agent.city) : pickPlace(draw);
  const dwelling = pickDwelling(draw, place);
  const status = order.fresh === true ? 'Active' : draw.weighted(shares);
  const life = lifeOf(draw, order, status, dwelling.price);
  const photoCount = draw.between(1, status === 'Coming Soon' || dwelling.bedrooms === undefined ? 4 : 12);
  const base = { key, id, entered: life.entered };
  const media = Array.from({ length: photoCount }, (_, index) =>
    makeMedia(draw, base, index, `${key}-${index + 1}`),
  );
  const property = {
    ListingKey: key,
    ListingId: id,
    StandardStatus: status,
    MlsStatus: mlsStatuses[status],
    ...addressOf(draw, place, dwelling),
    ...buildingOf(draw, dwelling),
    ...life.columns,
    PublicRemarks: writeRemarks(draw, { ...dwelling, city: place.city, kind: dwelling.subType }),
    ListAgentKey: order.agent.key,
    ListAgentFullName: order.agent.fullName,
    ListOfficeKey: order.agent.officeKey,
    ListOfficeName: order.agent.officeName,
    BuyerAgentKey: status === 'Closed' ? order.buyerAgent.key : null,
    BuyerOfficeKey: status === 'Closed' ? order.buyerAgent.officeKey : null,
    PhotosCount: photoCount,
    PhotosChangeTimestamp: life.entered,
    InternetEntireListingDisplayYN: draw.happens(0.96),
    InternetAddressDisplayYN: draw.happens(0.95),
  };
  const opens = status === 'Active' && draw.happens(order.fresh === true ? 0.3 : 0.15);
  const openHouses = opens
    ? [makeOpenHouse(draw, { ...base, agentKey: order.agent.key, time: order.time }, `${key}-OH1`)]
    : [];
  return { property, media, openHouses };
}

/** What has happened to the listing between its entry and now. */
function lifeOf(
  draw: Chance,
  order: ListingOrder,
  status: Status,
  price: number,
): { entered: string; columns: SampleRow } {
  const age = order.fresh === true ? 0 : draw.between(...ages[status]);
  const entered = order.fresh === true ? order.time.toISOString() : ago(order.time, age, draw);
  const reduced = age > 20 && draw.happens(0.35);
  const contractAge = Math.floor(age * 0.6);
  const under = ['Active Under Contract', 'Pending', 'Closed'].includes(status);
  const closeAge = Math.max(1, contractAge - draw.between(24, 45));
  const changeAge = status === 'Closed' ? closeAge : under ? contractAge : Math.floor(age * 0.4);
  const changed = age === 0 ? entered : ago(order.time, changeAge, draw);
  const original = reduced ? rounded(price * (1 + draw.around(0.05, 0.03))) : price;
  return {
    entered,
    columns: {
      ListPrice: price,
      OriginalListPrice: original,
      PreviousListPrice: reduced ? original : null,
      ClosePrice: status === 'Closed' ? rounded(price * draw.around(0.995, 0.05)) : null,
      ListingContractDate: dateAfter(entered, 0),
      PurchaseContractDate: under ? dateAfter(order.time, -contractAge) : null,
      CloseDate: status === 'Closed' ? dateAfter(changed, 0) : null,
      WithdrawnDate: status === 'Withdrawn' ? dateAfter(changed, 0) : null,
      PriceChangeTimestamp: reduced ? ago(order.time, Math.floor(age * 0.7), draw) : null,
      StatusChangeTimestamp: changed,
      MajorChangeType: order.fresh === true ? 'New Listing' : status,
      OriginalEntryTimestamp: entered,
      ModificationTimestamp: changed,
    },
  };
}

function addressOf(draw: Chance, place: ReturnType<typeof placeOf>, dwelling: Dwelling): SampleRow {
  const { number, name, suffix } = pickStreet(draw);
  const unit = dwelling.inBuilding ? `${draw.between(1, 24)}${draw.pick(['A', 'B', 'C', '01', '12'])}` : null;
  const postalCode = draw.pick(place.postalCodes);
  const line = `${number} ${name} ${suffix}${unit === null ? '' : ` #${unit}`}`;
  return {
    StreetNumber: number,
    StreetName: name,
    StreetSuffix: suffix,
    UnitNumber: unit,
    UnparsedAddress: `${line}, ${place.city}, WA ${postalCode}`,
    City: place.city,
    CountyOrParish: place.county,
    StateOrProvince: 'WA',
    PostalCode: postalCode,
    Country: 'US',
    Latitude: degrees(draw.around(place.latitude, 0.03)),
    Longitude: degrees(draw.around(place.longitude, 0.03)),
  };
}

function buildingOf(draw: Chance, dwelling: Dwelling): SampleRow {
  const built = dwelling.bedrooms !== undefined;
  return {
    PropertyType: dwelling.type,
    PropertySubType: dwelling.subType,
    BedroomsTotal: dwelling.bedrooms ?? null,
    BathroomsTotalInteger: built ? dwelling.fullBaths + dwelling.halfBaths : null,
    BathroomsFull: built ? dwelling.fullBaths : null,
    BathroomsHalf: built ? dwelling.halfBaths : null,
    LivingArea: dwelling.livingArea ?? null,
    LivingAreaUnits: built ? 'Square Feet' : null,
    LotSizeSquareFeet: dwelling.lotSize ?? null,
    YearBuilt: dwelling.yearBuilt ?? null,
    StoriesTotal: dwelling.stories ?? null,
    GarageSpaces: dwelling.garageSpaces ?? null,
    ...dwelling.features,
    WaterfrontYN: draw.happens(0.03),
    AssociationFee: dwelling.inBuilding ? draw.between(25, 90) * 10 : null,
    TaxAnnualAmount: Math.round(dwelling.price * draw.around(0.0092, 0.0015)),
  };
}

/** To whole thousands, as prices are asked. */
export function rounded(price: number): number {
  return Math.max(1_000, Math.round(price / 1_000) * 1_000);
}

function degrees(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
