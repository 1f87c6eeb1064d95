import type { Chance } from './chance.ts';

/** What a description is written from. */
export interface RemarkFacts {
  readonly city: string;
  readonly kind: string;
  /** Part of a building with an owners' association. */
  readonly inBuilding: boolean;
  readonly bedrooms: number | undefined;
  readonly garageSpaces: number | undefined;
  readonly yearBuilt: number | undefined;
}

const openings = [
  'Welcome home to this light-filled',
  'Rarely available',
  'Move-in ready',
  'Tucked away on a quiet street: a',
  '“A gem,” say the sellers of this',
  'Thoughtfully updated',
];
const middles = [
  'Open kitchen w/ quartz counters & a walk-in pantry.',
  'New roof, new furnace & fresh paint inside/out.',
  "The primary suite has an ensuite bath and his/hers closets; the kids' rooms share a hall bath.",
  'Hardwood floors on the main level, carpet upstairs.',
  'Fenced yard with room for a garden, a dog & a BBQ.',
  'Ductless heat pump cuts the bills by 30%.',
  'The café-style nook is everyone’s favorite spot.',
  'Ceilings of 9\' 6" make it feel larger than it is.',
];
const endings = [
  'Minutes to parks, schools & transit.',
  'Pre-inspected; the report is available on request.',
  'Offers reviewed as received.',
  'Don’t miss it!',
  'Easy access to I-5 / I-90.',
];
const association = 'HOA covers water, sewer & garbage.';

/** A description in the style of the trade, with the punctuation that comes with it. */
export function writeRemarks(chance: Chance, facts: RemarkFacts): string {
  if (facts.bedrooms === undefined) {
    return `Build your dream home on this lot in ${facts.city}. Water & power in the street; feasibility study available. ${chance.pick(endings)}`;
  }
  const rooms = `${facts.bedrooms}-bedroom ${facts.kind.toLowerCase()}`;
  const built = facts.yearBuilt === undefined ? '' : `, built ${facts.yearBuilt}`;
  const garage = facts.garageSpaces === undefined ? [] : [`Garage for ${facts.garageSpaces}.`];
  return [
    `${chance.pick(openings)} ${rooms} in ${facts.city}${built}.`,
    ...chance.some(middles, 1, 3),
    ...garage,
    facts.inBuilding ? association : chance.pick(endings),
  ].join(' ');
}
