import type { Chance } from './chance.ts';

/** A city with what a price and an address depend on. */
export interface Place {
  readonly city: string;
  readonly county: string;
  readonly postalCodes: readonly string[];
  readonly latitude: number;
  readonly longitude: number;
  /** Dollars for a square foot of an ordinary house. */
  readonly squareFootPrice: number;
  readonly areaCode: string;
  /** How many of the listings are here, relative to the others. */
  readonly weight: number;
}

function place(
  city: string,
  county: string,
  postalCodes: readonly string[],
  [latitude, longitude]: readonly [number, number],
  squareFootPrice: number,
  areaCode: string,
  weight: number,
): Place {
  return { city, county, postalCodes, latitude, longitude, squareFootPrice, areaCode, weight };
}

const places: readonly Place[] = [
  place('Seattle', 'King', ['98103', '98115', '98117', '98118', '98144'], [47.61, -122.33], 560, '206', 26),
  place('Bellevue', 'King', ['98004', '98006', '98008'], [47.61, -122.18], 720, '425', 9),
  place('Kirkland', 'King', ['98033', '98034'], [47.69, -122.19], 650, '425', 7),
  place('Redmond', 'King', ['98052', '98053'], [47.67, -122.11], 620, '425', 6),
  place('Issaquah', 'King', ['98027', '98029'], [47.54, -122.04], 520, '425', 4),
  place('Shoreline', 'King', ['98133', '98155', '98177'], [47.76, -122.34], 480, '206', 5),
  place('Renton', 'King', ['98055', '98056', '98058'], [47.48, -122.2], 400, '425', 7),
  place('Kent', 'King', ['98030', '98031', '98042'], [47.38, -122.21], 345, '253', 6),
  place('Burien', 'King', ['98146', '98166'], [47.47, -122.34], 405, '206', 4),
  place('Auburn', 'King', ['98001', '98002', '98092'], [47.31, -122.22], 320, '253', 5),
  place('Everett', 'Snohomish', ['98201', '98203', '98208'], [47.97, -122.2], 365, '425', 6),
  place('Lynnwood', 'Snohomish', ['98036', '98037'], [47.83, -122.29], 430, '425', 4),
  place('Tacoma', 'Pierce', ['98403', '98405', '98406', '98407'], [47.25, -122.46], 320, '253', 8),
  place('Puyallup', 'Pierce', ['98371', '98374'], [47.17, -122.29], 295, '253', 3),
];

const streets = [
  'Alder',
  'Bayview',
  'Cedar',
  'Dogwood',
  'Elliott',
  'Fir',
  'Garfield',
  'Hawthorne',
  "Hunter's Glen",
  'Juniper',
  'Kirkwood',
  'Lakeview',
  'Madrona',
  'Maple',
  'Nob Hill',
  'Olympic View',
  'Pine',
  "Queen Anne's Lace",
  'Ravenna',
  'Salish',
  'Thornton Creek',
  'Vashon',
  'Wedgwood',
  'Yesler',
  '3rd',
  '12th',
  '23rd',
  '45th',
  '72nd',
  '148th',
];
const suffixes = ['Avenue', 'Street', 'Drive', 'Place', 'Court', 'Lane', 'Way', 'Road', 'Terrace'];

/** A place, the larger ones more often. */
export function pickPlace(chance: Chance): Place {
  return chance.weighted(places.map(found => [found, found.weight] as const));
}

/** The place of that name. @throws Error when there is none. */
export function placeOf(city: string): Place {
  const found = places.find(candidate => candidate.city === city);
  if (found === undefined) throw new Error(`The sample has no city ${city}.`);
  return found;
}

/** Number, name and suffix of a street that could be anywhere. */
export function pickStreet(chance: Chance): { number: string; name: string; suffix: string } {
  return {
    number: String(chance.between(100, 19_900)),
    name: chance.pick(streets),
    suffix: chance.pick(suffixes),
  };
}

/** A number from the range that is kept free for fiction. */
export function pickPhone(chance: Chance, areaCode: string): string {
  return `${areaCode}-555-01${String(chance.below(100)).padStart(2, '0')}`;
}
