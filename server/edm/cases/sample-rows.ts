import { picosecondsOfDuration } from '../calendar.ts';
import type { Row } from '../evaluate.ts';
import { intervalText } from '../sql-literal.ts';

/** Rows of the sample model, at the edges of their types and with nulls in every nullable place. */
const owners: readonly (Row & { readonly Made: Row[] })[] = [
  { Id: 1, Name: 'Ada', Rank: 3, Shown: true, Made: [] },
  { Id: 2, Name: null, Rank: null, Shown: true, Made: [] },
  { Id: 3, Name: 'Hidden', Rank: 3, Shown: false, Made: [] },
];

function pick<T>(values: readonly T[], index: number, step: number): T {
  const value = values[(index * step + Math.floor((index * step) / values.length)) % values.length];
  if (value === undefined) throw new Error('no value to pick');
  return value;
}

const NAMES = [
  'a',
  '',
  null,
  'A',
  "O'Neil",
  'ab%_c',
  'Zoë',
  'ab',
  '  pad ',
  'z\u{1F600}y',
  'abc\\',
  null,
  '10',
  '\uFF5Ea',
];
const BIGS = [
  '0',
  '1',
  null,
  '-1',
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  '9007199254740992',
];
const PRICES = ['0.00', '1.50', null, '-1.50', '2.50', '9999999999.99', '0.10', '-0.01'];
const RATES = [
  '0',
  '0.1234567890123456789',
  '0.30000000000000004',
  null,
  '3',
  '-2.5',
  '1000000000000000000000000',
  '0.5',
  '1.0',
];
const LATS = [0, 0.1, 0.1 + 0.2, null, -122.4194, 1e300, Number.NaN, Infinity, -Infinity, 5e-324, 2.5];
const SHORTS = [0, 1.5, null, Math.fround(1.1), 16777216, -2.5, Number.NaN];
const DAYS = ['2024-02-29', null, '2023-12-31', '1970-01-01', '0001-01-01', '9999-12-31', '2024-03-01'];
const TIMES = ['00:00:00', '12:30:00', null, '23:59:59.999999', '12:30:45.5'];
const STAMPS = [
  '2024-01-01T00:00:00Z',
  '2023-12-31T23:59:59.999999Z',
  null,
  '1969-12-31T23:59:59.123456Z',
  '2024-02-29T12:30:45.5Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
];
const SPANS = ['PT0S', 'P1D', null, '-PT1H', 'PT0.000001S', 'P400000D', 'PT90061.5S'];
const GUIDS = ['01234567-89ab-cdef-0123-456789abcdef', null, '00000000-0000-0000-0000-000000000000'];
const TAGS = [[], ['a'], null, ['a', 'b'], ['A', "O'Neil"], ['', null], [null]];
const SIZES = [[1, 2, 3], [], null, ['9223372036854775807'], [0, null], [-1]];
const ADDRESSES = [
  { Street: 'Main', Zip: 12345, Known: true },
  null,
  { Street: null, Zip: 0 },
  { Street: 7, Zip: 'x', Known: 'y' },
  {},
];

/** Parts of one thing. */
function partsOf(index: number): readonly Row[] {
  return Array.from({ length: index % 4 }, (_, part) =>
    made({
      Id: index * 10 + part,
      Label: pick(NAMES, index + part, 3),
      Weight: pick(PRICES, index + part, 5),
      Ready: pick([true, null, false], index + part, 2),
      Shown: (index + part) % 5 !== 0,
      Marks: pick(TAGS, index + part, 3),
      Maker: pick([...owners, null], index + part, 3),
    }),
  );
}

/** Enters a part with its maker. */
function made(part: Row): Row {
  const maker = owners.find(owner => owner === part.Maker);
  maker?.Made.push(part);
  return part;
}

/** The things, with their parts and owners inside. */
export const rows: readonly Row[] = Array.from({ length: 42 }, (_, index) => ({
  Id: index + 1,
  Small: pick([0, 1, null, -1, 32767, -32768], index, 1),
  Count: pick([0, null, 2147483647, -2147483648, 7, 3, -7], index, 1),
  Big: pick(BIGS, index, 1),
  Price: pick(PRICES, index, 3),
  Rate: pick(RATES, index, 5),
  Lat: pick(LATS, index, 1),
  Short: pick(SHORTS, index, 1),
  Name: pick(NAMES, index, 1),
  Code: pick(['x', 'ab', 'Ab', 'c', ''], index, 1),
  Flag: pick([true, false, null], index, 1),
  Sure: pick([true, false], index, 1),
  Day: pick(DAYS, index, 1),
  At: pick(TIMES, index, 1),
  Stamp: pick(STAMPS, index, 1),
  Made: pick(
    STAMPS.filter(stamp => stamp !== null),
    index,
    5,
  ),
  Span: pick(SPANS, index, 1),
  Uid: pick(GUIDS, index, 1),
  Bytes: pick(['AQID', null, ''], index, 1),
  Tags: pick(TAGS, index, 1),
  Sizes: pick(SIZES, index, 1),
  Color: pick(['Red', null, 'Blue', 'Green'], index, 1),
  Style: pick([0, 1, null, 3, 7, 6], index, 1),
  Address: pick(ADDRESSES, index, 1),
  Upper: pick(NAMES, index, 1)?.toUpperCase() ?? null,
  Owner: pick([...owners, null], index, 3),
  Parts: partsOf(index),
}));

/** One insert with its parameters. */
export interface Insert {
  readonly text: string;
  readonly values: readonly unknown[];
}

const THING_COLUMNS: readonly (readonly [string, string])[] = [
  ['Id', 'bigint'],
  ['Small', 'smallint'],
  ['Count', 'int'],
  ['Big', 'bigint'],
  ['Price', 'numeric'],
  ['Rate', 'numeric'],
  ['Lat', 'float8'],
  ['Short', 'float4'],
  ['Name', 'text'],
  ['Code', 'text'],
  ['Flag', 'boolean'],
  ['Sure', 'boolean'],
  ['Day', 'date'],
  ['At', 'time'],
  ['Stamp', 'timestamptz'],
  ['Made', 'timestamptz'],
  ['Span', 'interval'],
  ['Uid', 'uuid'],
  ['Bytes', 'bytea'],
  ['Tags', 'text[]'],
  ['Sizes', 'bigint[]'],
  ['Color', 'text'],
  ['Style', 'int'],
  ['Address', 'jsonb'],
];

/** The statements that fill the tables. */
export function inserts(): readonly Insert[] {
  const statements: Insert[] = owners.map(row =>
    insert('owner', [row.Id, row.Name, row.Rank, row.Shown], ['bigint', 'text', 'int', 'boolean']),
  );
  for (const row of rows) {
    const values = THING_COLUMNS.map(([name, type]) => toColumn(row[name], type));
    statements.push(
      insert('thing', [...values, idOf(row.Owner)], [...THING_COLUMNS.map(([, type]) => type), 'bigint']),
    );
    for (const part of row.Parts as readonly Row[]) {
      const partValues = [
        part.Id,
        row.Id,
        idOf(part.Maker),
        part.Label,
        part.Weight,
        part.Ready,
        part.Shown,
        part.Marks,
      ];
      statements.push(
        insert('part', partValues, [
          'bigint',
          'bigint',
          'bigint',
          'text',
          'numeric',
          'boolean',
          'boolean',
          'text[]',
        ]),
      );
    }
  }
  return statements;
}

function idOf(row: unknown): unknown {
  return typeof row === 'object' && row !== null && 'Id' in row ? row.Id : null;
}

function toColumn(value: unknown, type: string): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'jsonb') return jsonOf(value as Row);
  if (type === 'interval') return intervalText(picosecondsOfDuration(String(value)), 0);
  if (type === 'bytea') return Buffer.from(String(value), 'base64url');
  if (typeof value === 'number') return String(value);
  return value;
}

function jsonOf(address: Row): string {
  return JSON.stringify({ street: address.Street, zip: address.Zip, known: address.Known });
}

function insert(table: string, values: readonly unknown[], types: readonly string[]): Insert {
  const marks = types.map((type, index) => `$${index + 1}::${type}`).join(', ');
  const bound = values.map(value => (typeof value === 'number' ? String(value) : value));
  return { text: `insert into ${table} values (${marks})`, values: bound };
}
