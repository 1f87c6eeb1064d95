import type { Chance } from './chance.ts';
import type { Place } from './places.ts';
import type { SampleRow } from './tables.ts';

/** The building of a listing, or the empty lot: then bedrooms, area and year are undefined. */
export interface Dwelling {
  readonly type: string;
  readonly subType: string;
  readonly inBuilding: boolean;
  readonly bedrooms: number | undefined;
  readonly fullBaths: number;
  readonly halfBaths: number;
  /** Square feet. */
  readonly livingArea: number | undefined;
  /** Square feet. */
  readonly lotSize: number | undefined;
  readonly yearBuilt: number | undefined;
  readonly stories: number | undefined;
  readonly garageSpaces: number | undefined;
  /** Dollars, to the thousand: what size, age, kind and city make of it. */
  readonly price: number;
  readonly features: SampleRow;
}

interface Kind {
  readonly type: string;
  readonly subType: string;
  readonly bedrooms: readonly [number, number];
  readonly areaOfBedroom: number;
  /** Price of a square foot, relative to a house. */
  readonly value: number;
  readonly lot: readonly [number, number] | undefined;
  readonly weight: number;
}

function kind(
  subType: string,
  bedrooms: readonly [number, number],
  areaOfBedroom: number,
  value: number,
  lot: readonly [number, number] | undefined,
  weight: number,
  type = 'Residential',
): Kind {
  return { type, subType, bedrooms, areaOfBedroom, value, lot, weight };
}

const kinds: readonly Kind[] = [
  kind('Single Family Residence', [2, 6], 560, 1, [3_200, 14_000], 62),
  kind('Condominium', [1, 3], 480, 0.95, undefined, 19),
  kind('Townhouse', [2, 4], 490, 0.97, [900, 2_000], 11),
  kind('Duplex', [3, 6], 430, 0.8, [4_000, 9_000], 2, 'Residential Income'),
  kind('Manufactured Home', [2, 3], 500, 0.45, [3_000, 20_000], 3, 'Manufactured In Park'),
];
const landShare = 0.03;

/** A dwelling whose facts fit each other and the place. */
export function pickDwelling(chance: Chance, place: Place): Dwelling {
  if (chance.happens(landShare)) return emptyLot(chance, place);
  const chosen = chance.weighted(kinds.map(found => [found, found.weight] as const));
  const [least, most] = chosen.bedrooms;
  const bedrooms = Math.round(chance.around((least + most) / 2, (most - least) / 2));
  const livingArea = Math.round(chosen.areaOfBedroom * (bedrooms + 1) * chance.around(0.85, 0.25));
  const yearBuilt = chance.happens(0.15) ? chance.between(2015, 2024) : chance.between(1908, 2014);
  const newness = 0.94 + (Math.max(0, yearBuilt - 1960) / 65) * 0.14;
  // A foot of a small place costs more than one of a large place.
  const size = 1.12 - Math.min(0.25, livingArea / 20_000);
  const price = livingArea * place.squareFootPrice * chosen.value * newness * size * chance.around(1, 0.22);
  const inBuilding = chosen.lot === undefined;
  const garage = chance.weighted([
    [undefined, inBuilding ? 55 : 18],
    [1, inBuilding ? 40 : 27],
    [2, inBuilding ? 5 : 45],
    [3, inBuilding ? 0 : 10],
  ]);
  return {
    type: chosen.type,
    subType: chosen.subType,
    inBuilding,
    bedrooms,
    fullBaths: Math.max(1, Math.round(bedrooms * chance.around(0.6, 0.2))),
    halfBaths: chance.happens(0.4) ? 1 : 0,
    livingArea,
    lotSize: chosen.lot === undefined ? undefined : chance.between(...chosen.lot),
    yearBuilt,
    stories: inBuilding || bedrooms < 3 ? 1 : chance.between(1, 3),
    garageSpaces: garage,
    price: Math.round(price / 1_000) * 1_000,
    features: featuresOf(chance),
  };
}

function emptyLot(chance: Chance, place: Place): Dwelling {
  const lotSize = chance.between(5_000, 90_000);
  const price = Math.sqrt(lotSize) * place.squareFootPrice * chance.around(3.4, 1.4);
  return {
    type: 'Land',
    subType: 'Unimproved Land',
    inBuilding: false,
    bedrooms: undefined,
    fullBaths: 0,
    halfBaths: 0,
    livingArea: undefined,
    lotSize,
    yearBuilt: undefined,
    stories: undefined,
    garageSpaces: undefined,
    price: Math.round(price / 1_000) * 1_000,
    features: { View: chance.some(views, 0, 2) },
  };
}

const appliances = [
  'Dishwasher',
  'Disposal',
  'Dryer',
  'Microwave',
  'Refrigerator',
  'Stainless Steel Appliance(s)',
];
const heating = ['Baseboard', 'Forced Air', 'Heat Pump', 'Natural Gas', 'Radiant Floor'];
const cooling = ['Central Air', 'Ductless', 'Heat Pump', 'Window Unit(s)'];
const flooring = ['Bamboo', 'Carpet', 'Ceramic Tile', 'Hardwood', 'Luxury Vinyl', 'Slate'];
const views = ['City Lights', 'Lake', 'Mountain(s)', 'Park/Greenbelt', 'Territorial', 'Trees/Woods'];

/** Values of the Data Dictionary's lookups. */
function featuresOf(chance: Chance): SampleRow {
  return {
    Appliances: chance.some(appliances, 1, 6),
    Heating: chance.some(heating, 1, 2),
    Cooling: chance.happens(0.4) ? chance.some(cooling, 1, 2) : ['None'],
    Flooring: chance.some(flooring, 1, 3),
    View: chance.some(views, 0, 2),
  };
}
