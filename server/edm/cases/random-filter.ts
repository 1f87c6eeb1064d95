import fc from 'fast-check';

type Text = fc.Arbitrary<string>;

const NUMBERS = [
  '0',
  '1',
  '-1',
  '7',
  '2',
  '1.5',
  '-2.5',
  '0.5',
  '0.1',
  '1e300',
  '1e-7',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '9007199254740993',
  '32768',
  '2147483648',
  '0.1234567890123456789',
  '1.1',
  '16777217',
  '1000000000000000000000000',
  '3',
  'INF',
  '-INF',
  'NaN',
  '5e-324',
  '2.50',
  '99999999999999999999.5',
];
const STRINGS = [
  "''",
  "'a'",
  "'A'",
  "'ab'",
  "'O''Neil'",
  "'%'",
  "'_'",
  "'\\'",
  "'Zoë'",
  "'\u{1F600}'",
  "'  pad '",
  "'b'",
  "'1'",
  "'?'",
  "'$1'",
  "'\uFF5E'",
];
const STAMPS = [
  '2024-01-01T00:00:00Z',
  '2024-01-01T02:00:00+02:00',
  '2023-12-31T23:59:59.9999995Z',
  '1969-12-31T23:59:59.123456789012Z',
  '0001-01-01T00:00Z',
  '9999-12-31T23:59:59.999999999999Z',
  '2024-02-29T12:30:45.5Z',
  '2023-12-31T23:59:59.999999Z',
  'now()',
  'mindatetime()',
  'maxdatetime()',
];
const DAYS = ['2024-02-29', '2023-12-31', '1970-01-01', '0001-01-01', '9999-12-31'];
const TIMES = ['00:00', '12:30:00', '23:59:59.999999', '12:30:45.500000000001', '23:59:59.9999999'];
const SPANS = [
  "duration'PT0S'",
  "duration'P1D'",
  "duration'-PT1H'",
  "duration'PT0.000001S'",
  "duration'PT0.0000001S'",
  "duration'P400000D'",
];
const COMPARE = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];

function oneOf(values: readonly string[]): Text {
  return fc.constantFrom(...values);
}

function join(...parts: readonly (Text | string)[]): Text {
  return fc
    .tuple(...parts.map(part => (typeof part === 'string' ? fc.constant(part) : part)))
    .map(texts => texts.join(''));
}

function compared(operators: readonly string[], left: Text, right: Text): Text {
  return join(left, ' ', oneOf(operators), ' ', right);
}

/** A list of items, with null now and then, possibly empty. */
function list(items: Text): Text {
  return fc
    .array(fc.oneof({ weight: 6, arbitrary: items }, { weight: 1, arbitrary: fc.constant('null') }), {
      maxLength: 4,
    })
    .map(texts => `(${texts.join(',')})`);
}

/**
 * Random well-typed filters over the sample model. `names` gives the properties in reach by type, so that lambdas can put
 * their range variable before them.
 */
export function randomFilter(): Text {
  return grammar({ prefix: '', lambda: 2 }).filter;
}

interface Grammar {
  readonly filter: Text;
  readonly number: Text;
  readonly string: Text;
  readonly instant: Text;
}

interface Place {
  readonly prefix: string;
  readonly lambda: number;
}

function grammar(place: Place): Grammar {
  const built = fc.letrec<{
    filter: string;
    number: string;
    integer: string;
    string: string;
    instant: string;
    day: string;
    time: string;
    span: string;
  }>(tie => ({
    integer: fc.oneof(
      { depthSize: 'small' },
      oneOf([
        'Small',
        'Count',
        'Big',
        'Id',
        'Owner/Rank',
        'Address/Zip',
        'Parts/$count',
        'Tags/$count',
        '3',
        '-7',
        '0',
      ]),
      join('length(', tie('string'), ')'),
      join('indexof(', tie('string'), ',', tie('string'), ')'),
      join(
        oneOf(['year', 'month', 'day', 'hour', 'minute', 'second', 'totaloffsetminutes']),
        '(',
        tie('instant'),
        ')',
      ),
      join('(', tie('integer'), ' ', oneOf(['add', 'sub', 'mul', 'div', 'mod']), ' ', tie('integer'), ')'),
      join('cast(', tie('number'), ',', oneOf(['Edm.Int16', 'Edm.Int64', 'Edm.Int32']), ')'),
      join(
        'Parts/$count($filter=',
        oneOf(['Ready', 'Weight gt 1', "$this/Label eq 'a'", '$it/Big gt 0']),
        ')',
      ),
    ),
    number: fc.oneof(
      { depthSize: 'small' },
      oneOf(['Price', 'Rate', 'Lat', 'Short', 'Big', 'Count', ...NUMBERS]),
      tie('integer'),
      join(
        '(',
        tie('number'),
        ' ',
        oneOf(['add', 'sub', 'mul', 'div', 'divby', 'mod']),
        ' ',
        tie('number'),
        ')',
      ),
      join('-(', tie('number'), ')'),
      join(oneOf(['round', 'floor', 'ceiling']), '(', tie('number'), ')'),
      join('totalseconds(', tie('span'), ')'),
      join('fractionalseconds(', oneOf(['Stamp', 'At', 'Made']), ')'),
    ),
    string: fc.oneof(
      { depthSize: 'small' },
      oneOf(['Name', 'Code', 'Owner/Name', 'Address/Street', 'Upper', ...STRINGS]),
      join(oneOf(['tolower', 'toupper', 'trim']), '(', oneOf(['Code', 'trim(Code)', "'aB '"]), ')'),
      join('trim(', tie('string'), ')'),
      join('concat(', tie('string'), ',', tie('string'), ')'),
      join('substring(', tie('string'), ',', tie('integer'), ')'),
      join('substring(', tie('string'), ',', tie('integer'), ',', tie('integer'), ')'),
      join('cast(', oneOf(['Big', 'Price', 'Flag', 'Day', 'Uid', 'Rate', 'Small']), ',Edm.String)'),
    ),
    instant: fc.oneof(
      { depthSize: 'small' },
      oneOf(['Stamp', 'Made', ...STAMPS]),
      join('(', oneOf(['Stamp', 'Made', 'now()']), ' ', oneOf(['add', 'sub']), ' ', tie('span'), ')'),
      join('cast(Day,Edm.DateTimeOffset)'),
    ),
    day: fc.oneof(
      { depthSize: 'small' },
      oneOf(['Day', ...DAYS]),
      join('date(', tie('instant'), ')'),
      join('(', oneOf(['Day', '2024-02-29']), ' ', oneOf(['add', 'sub']), ' ', tie('span'), ')'),
    ),
    time: fc.oneof({ depthSize: 'small' }, oneOf(['At', ...TIMES]), join('time(', tie('instant'), ')')),
    span: fc.oneof(
      { depthSize: 'small' },
      oneOf(['Span', ...SPANS]),
      join('(', oneOf(['Stamp', 'Made']), ' sub ', oneOf(['Stamp', 'Made', '2024-01-01T00:00:00Z']), ')'),
      join('(', tie('span'), ' ', oneOf(['add', 'sub']), ' ', tie('span'), ')'),
      join('(', tie('span'), ' ', oneOf(['mul', 'div']), ' ', oneOf(['2', '3', '0.5', 'Count']), ')'),
      join('-(', tie('span'), ')'),
    ),
    filter: fc.oneof(
      { depthSize: 'small' },
      compared(COMPARE, tie('number'), tie('number')),
      compared(
        COMPARE,
        oneOf(['Lat', '(Lat add 0)', '-(Lat)', 'Short']),
        oneOf(['Rate', 'Price', '0.30000000000000004', '0.3', 'Lat']),
      ),
      compared(COMPARE, tie('integer'), fc.oneof(tie('integer'), oneOf(NUMBERS))),
      compared(COMPARE, tie('string'), tie('string')),
      compared(COMPARE, tie('instant'), tie('instant')),
      compared(COMPARE, tie('day'), tie('day')),
      compared(COMPARE, tie('time'), tie('time')),
      compared(COMPARE, tie('span'), tie('span')),
      compared(['eq', 'ne'], oneOf(['Address', 'Owner', 'Owner/Name', 'Uid', 'Color']), fc.constant('null')),
      compared(COMPARE, oneOf(['Name', 'Big', 'Flag', 'Stamp', 'Price', 'null']), fc.constant('null')),
      compared(
        ['eq', 'ne'],
        oneOf(['Uid', '01234567-89AB-cdef-0123-456789abcdef']),
        oneOf(['Uid', '00000000-0000-0000-0000-000000000000']),
      ),
      compared(['eq', 'ne'], fc.constant('Bytes'), oneOf(["binary'AQID'", "binary''", 'Bytes'])),
      compared(['eq', 'ne'], fc.constant('Color'), oneOf(["'Red'", "Sample.Color'Blue'", '1', 'Color'])),
      compared(COMPARE, fc.constant('Style'), oneOf(["'Plain'", "Sample.Style'Plain,Striped'", '4'])),
      oneOf([
        "Style has 'Plain'",
        "Style has Sample.Style'Striped,Dotted'",
        "Color in ('Red',Sample.Color'Blue',null)",
      ]),
      join(oneOf(['Name', 'Code', 'tolower(Code)']), ' in ', list(oneOf(STRINGS))),
      join(oneOf(['Big', 'Price', 'Lat', 'Short', '(Count add 1)']), ' in ', list(oneOf(NUMBERS))),
      join('Stamp in ', list(oneOf(STAMPS.filter(stamp => !stamp.includes('('))))),
      join(oneOf(['Day in ']), list(oneOf(DAYS))),
      join('Span in ', list(oneOf(SPANS))),
      join('Flag in ', list(oneOf(['true', 'false']))),
      oneOf([
        'Name in Tags',
        'Big in Sizes',
        'Rate in Sizes',
        "'a' in Tags",
        'null in Tags',
        'Owner/Name in Tags',
      ]),
      oneOf([
        'true',
        'false',
        'Flag',
        'Sure',
        'null',
        'Address/Known',
        'isof(Name,Edm.String)',
        'isof(Sample.Thing)',
        'isof(Name,Edm.Int64)',
      ]),
      join(oneOf(['contains', 'startswith', 'endswith']), '(', tie('string'), ',', tie('string'), ')'),
      join('not (', tie('filter'), ')'),
      join('(', tie('filter'), ') ', oneOf(['and', 'or']), ' (', tie('filter'), ')'),
      join(
        '(',
        tie('filter'),
        ') ',
        oneOf(['and', 'or']),
        ' (',
        tie('filter'),
        ') ',
        oneOf(['and', 'or']),
        ' (',
        tie('filter'),
        ')',
      ),
      join('(', tie('filter'), ') ', oneOf(['eq', 'ne', 'gt', 'le']), ' (', tie('filter'), ')'),
      lambdaOver(place),
    ),
  }));
  return built;
}

/** any and all over values and rows, nested once. */
function lambdaOver(place: Place): Text {
  if (place.lambda === 0) return fc.constant('Tags/any()');
  const onTag = fc.oneof(
    oneOf(['eq', 'ne', 'gt']).chain(op => oneOf(STRINGS).map(text => `t ${op} ${text}`)),
    oneOf([
      "contains(t,'a')",
      't eq null',
      't eq Name',
      'length(t) gt 1',
      "not (t eq 'a')",
      "t in ('a',null)",
      'null',
      't ne Code',
    ]),
  );
  const onSize = compared(
    COMPARE,
    fc.constant('s'),
    oneOf(['1', '1.5', '9223372036854775808', 'Big', 'null', 'Count']),
  );
  const onPart = fc.oneof(
    oneOf([
      'p/Ready',
      'not p/Ready',
      'p/Ready eq null',
      'p/Weight gt 1',
      'p/Label eq Name',
      'p/Weight lt Price',
      'p/Maker/Rank eq 3',
    ]),
    oneOf([
      "p/Marks/any(m:m eq 'a')",
      'p/Marks/all(m:m eq p/Label)',
      'p/Maker/Made/any(q:q/Id eq p/Id)',
      'p/Marks/$count gt 1',
      'p/Maker eq null',
    ]),
    oneOf(['p/Label in Tags', 'p/Marks/any(m:m in Tags)', 'p/Maker/Made/$count($filter=Ready) gt 0']),
  );
  const either = oneOf(['any', 'all']);
  return fc.oneof(
    oneOf(['Tags/any()', 'Sizes/any()', 'Parts/any()', 'Owner/Made/any()']),
    join('Tags/', either, '(t:', onTag, ')'),
    join('Tags/', either, '(t:', onTag, ' or ', onTag, ')'),
    join('Sizes/', either, '(s:', onSize, ')'),
    join('Parts/', either, '(p:', onPart, ')'),
    join('Parts/', either, '(p:', onPart, ' and ', onPart, ')'),
    join('Owner/Made/', either, '(p:', onPart, ')'),
  );
}
