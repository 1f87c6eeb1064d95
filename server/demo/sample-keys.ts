/**
 * Keys by number. Most are plain; a few hold each of the characters that are special in a URL, a literal or a text,
 * so that whoever tries the feed meets them. The same number always gives the same key, whatever else there is.
 */
type KeyShape = (number: number) => string;

const plainListing: KeyShape = number => `PS-${1_000_000 + number}`;
const hardListings: readonly KeyShape[] = [
  number => `PS-${1_000_000 + number}'A`,
  number => `PS/${1_000_000 + number}`,
  number => `PS ${1_000_000 + number}`,
  number => `PS+${1_000_000 + number}`,
  number => `PS%${1_000_000 + number}%2F`,
  number => `PÜ-${1_000_000 + number}`,
  number => `物件-${1_000_000 + number}`,
  number => `PS&${1_000_000 + number}?#1`,
  number => `PS"${1_000_000 + number}"`,
];
/** So many numbers share one round of the hard shapes: 9 listings in 400. */
const listingRound = 400;

const hardOffices = new Map<number, KeyShape>([
  [5, number => `OF/${1_000 + number}`],
  [11, number => `OF-${1_000 + number} Süd`],
  [17, number => `OF'${1_000 + number}`],
]);
const officeRound = 29;

const hardMembers = new Map<number, KeyShape>([
  [3, number => `AG'${10_000 + number}`],
  [8, number => `AG ${10_000 + number}+`],
  [13, number => `AG%${10_000 + number}`],
  [21, number => `経紀-${10_000 + number}`],
]);
const memberRound = 97;

export const listingKey: KeyShape = number => (hardListings[number % listingRound] ?? plainListing)(number);

/** True when the key needs no quoting anywhere. */
export function isPlainKey(key: string): boolean {
  return /^[A-Za-z0-9-]+$/.test(key);
}

export const officeKey: KeyShape = number =>
  hardOffices.get(number % officeRound)?.(number) ?? `OF-${1_000 + number}`;

export const memberKey: KeyShape = number =>
  hardMembers.get(number % memberRound)?.(number) ?? `AG-${10_000 + number}`;

/** How many offices and members belong to a sample with so many listings. */
export function rosterSize(listings: number): { offices: number; members: number } {
  const offices = Math.min(2_000, Math.max(8, Math.round(listings / 55)));
  return { offices, members: Math.max(offices * 2, Math.round(listings / 14)) };
}
