import type { Chance } from './chance.ts';

/** A person's name, in the letters in which that person writes it. */
export interface PersonName {
  readonly first: string;
  readonly last: string;
  readonly full: string;
  readonly languages: readonly string[];
}

interface Tongue {
  readonly weight: number;
  readonly languages: readonly string[];
  readonly first: readonly string[];
  readonly last: readonly string[];
  /** Family name first, without a space between where the script has none. */
  readonly full?: (first: string, last: string) => string;
}

const tongues: readonly Tongue[] = [
  {
    weight: 62,
    languages: ['English'],
    first: 'Alice Ben Carol Daniel Emma Frank Grace Henry Irene Jack Karen Liam Megan Noah Paula Ruth'.split(
      ' ',
    ),
    last: "Adams Baker Clark Davis Evans Foster Green Hughes Irwin Jones Knight Lewis Moore Owens Smith-Carter D'Angelo".split(
      ' ',
    ),
  },
  {
    weight: 7,
    languages: ['English'],
    first: ['Seán', 'Aoife', 'Niamh', 'Ciarán'],
    last: ["O'Brien", "O'Neill", 'Ó Súilleabháin', 'McCarthy'],
  },
  {
    weight: 8,
    languages: ['English', 'Spanish'],
    first: ['María', 'José', 'Lucía', 'Andrés', 'Begoña'],
    last: ['Núñez', 'García', 'Peña', 'Ibáñez', 'Muñoz'],
  },
  {
    weight: 5,
    languages: ['English', 'German'],
    first: ['Jürgen', 'Käthe', 'Björn', 'Anneliese'],
    last: ['Müller', 'Groß', 'Schäfer', 'Weiß'],
  },
  {
    weight: 5,
    languages: ['English', 'Vietnamese'],
    first: ['Thị Lan', 'Văn Đức', 'Ngọc Hà'],
    last: ['Nguyễn', 'Trần', 'Phạm'],
    full: (first, last) => `${last} ${first}`,
  },
  {
    weight: 5,
    languages: ['English', 'Chinese'],
    first: ['明', '秀英', '建国', '丽'],
    last: ['李', '王', '张', '陈'],
    full: (first, last) => `${last}${first}`,
  },
  {
    weight: 3,
    languages: ['English', 'Japanese'],
    first: ['健太', '美咲', '翔'],
    last: ['佐藤', '青山', '渡辺'],
    full: (first, last) => `${last} ${first}`,
  },
  {
    weight: 3,
    languages: ['English', 'Russian'],
    first: ['Иван', 'Ольга', 'Дмитрий'],
    last: ['Петров', 'Шевченко', 'Соколов'],
  },
  { weight: 2, languages: ['English', 'Arabic'], first: ['أمل', 'يوسف'], last: ['حداد', 'منصور'] },
];

/** A person's name and languages. */
export function pickPerson(chance: Chance): PersonName {
  const tongue = chance.weighted(tongues.map(found => [found, found.weight] as const));
  const first = chance.pick(tongue.first);
  const last = chance.pick(tongue.last);
  const full = tongue.full?.(first, last) ?? `${first} ${last}`;
  return { first, last, full, languages: tongue.languages };
}

const firmNames = [
  'Rain City Homes, Inc.',
  "O'Neill & Sons Realty",
  'Lee/Park Partners',
  '"The Keys" Real Estate',
  '青山不動産 Seattle',
  'Müller & Söhne Immobilien',
  'Casa Núñez Realty',
  'Недвижимость Север / North Realty',
  'Pike & Pine Realty',
  'Bất Động Sản Việt',
  '100% Home Advisors',
  'C++ Condos <Downtown>',
  'Evergreen + Sound Properties',
];
const firmKinds = ['Realty', 'Homes', 'Real Estate', 'Properties', 'Brokers', 'Realty Group'];

/** The name of the firm with this number; the first dozen hold the characters that go wrong most often. */
export function firmName(chance: Chance, number: number): string {
  const known = firmNames[number];
  if (known !== undefined) return known;
  const family = chance.pick(tongues[0]?.last ?? []);
  const partner = chance.happens(0.4) ? ` & ${chance.pick(tongues[0]?.last ?? [])}` : '';
  return `${family}${partner} ${chance.pick(firmKinds)}`;
}
