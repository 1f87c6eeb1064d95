import type { SeededRandom } from '../testing/seeded-random.ts';

/** A request as it goes over the wire; header values and the path may hold anything. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const expressions = [
  'EntityEventSequence gt 3',
  "ResourceName eq 'Note'",
  "ResourceRecordKey in ('n1','n2',null)",
  'ListPrice ne 1000.25',
  "contains(City,'o') and not (BedroomsTotal eq 2)",
  'ListPrice div BedroomsTotal gt 100',
  'TaxId add 9223372036854775807 gt 0',
  'year(ModificationTimestamp) eq 2024',
  'ModificationTimestamp lt 2024-03-01T00:00:00.123456789012+14:00',
  'LivingArea gt INF',
  "Views/any(v:v eq 'sea')",
  'Views/all(v:length(v) gt 2)',
  'Views/$count gt 1',
  'Session eq 00000000-0000-0000-0000-000000000000',
  "cast(ListPrice,Edm.String) eq '1'",
  "ListingContractDate sub 2024-01-01 gt duration'P1D'",
  'length(City) gt @n',
  'now() gt ModificationTimestamp',
  "substring(City,1,2) eq 'sp'",
  'BedroomsTotal mod 0 eq 1',
  '-BedroomsTotal lt 0',
  'Active',
  'not Active',
  'Active eq null',
  "indexof(concat(City,'x'),'x') ge 0",
  'round(ListPrice) mul 1e300 gt 1',
  "City eq '%'",
  'TaxId eq 9007199254740993',
  'true',
  'null eq null',
] as const;

const options: readonly (readonly [string, readonly string[]])[] = [
  ['$filter', expressions],
  [
    '$orderby',
    [
      'ResourceName desc,EntityEventSequence',
      'City desc',
      'ListPrice,City',
      'length(City) desc',
      'TaxId mul TaxId',
      'Views',
    ],
  ],
  [
    '$select',
    ['*', 'ResourceName', 'ListingKey,City', 'EntityEventSequence , ResourceName', 'Views', 'Wrong'],
  ],
  ['$top', ['0', '1', '5', '99999999999999999999', '-1', '1.5']],
  ['$skip', ['0', '3', '99999999999999999999']],
  ['$count', ['true', 'false', 'TRUE', '']],
  [
    '$format',
    ['json', 'xml', 'application/json;odata.metadata=full', 'application/json;IEEE754Compatible=true'],
  ],
  ['$expand', ['*', 'Media', 'Nothing($top=1)']],
  ['$skiptoken', ['abc', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']],
  ['$deltatoken', ['abc']],
  ['$search', ['x']],
  ['$apply', ['aggregate($count as n)']],
  ['$compute', ['1 as x']],
  ['$schemaversion', ['*', '2']],
  ['$id', ['EntityEvent(1)', 'http://other.example/']],
  ['@n', ['1', "'x'", '@n', 'null', '[1,2]']],
  ['custom', ['1', '']],
];

const paths = [
  '/',
  '/EntityEvent',
  '/EntityEvent(1)',
  "/EntityEvent('2')",
  '/EntityEvent(EntityEventSequence=3)',
  '/EntityEvent/$count',
  '/EntityEvent(1)/ResourceName',
  '/EntityEvent(1)/ResourceName/$value',
  '/Property',
  "/Property('L1')",
  "/Property('a%2Fb%20%27%27c%27%27%20%26%20d')",
  "/Property('L4')/ListPrice/$value",
  '/Property/$count',
  '/Showing(3)',
  '/Showing',
  '/$metadata',
  '/openapi.json',
  '/$entity',
  '/$batch',
  '/EntityEvent/$query',
  '/Property/$query',
  '/$all',
  '/EntityEvent(@n)',
  '/Nothing',
] as const;

const methods = [
  ...Array.from({ length: 16 }, () => 'GET'),
  'HEAD',
  'POST',
  'OPTIONS',
  'PUT',
  'PATCH',
  'DELETE',
];

const headerValues: readonly (readonly [string, readonly string[]])[] = [
  [
    'accept',
    [
      'application/json',
      '*/*',
      'application/xml',
      'text/html',
      'application/json;odata.metadata=full',
      'application/json;IEEE754Compatible=true;q=0.3,text/plain',
      'a/b;c="d,e"',
    ],
  ],
  [
    'prefer',
    [
      'maxpagesize=2',
      'odata.track-changes',
      'omit-values=nulls',
      'return=minimal, wait=1',
      'include-annotations="*"',
      'continue-on-error=false',
      '=;,"',
    ],
  ],
  ['odata-maxversion', ['4.0', '4.01', '9.9', '3.0', '4.0;x']],
  ['odata-version', ['4.0', '4.01', '5.0']],
  ['if-none-match', ['*', 'W/"1"', '"', ',,']],
  ['if-match', ['W/"1"', '"x"']],
  [
    'content-type',
    [
      'application/json',
      'multipart/mixed;boundary=b',
      'text/plain',
      'multipart/mixed',
      'application/json;charset=utf-16',
      '',
    ],
  ],
  ['accept-encoding', ['gzip', 'br', 'identity;q=0, *;q=0', 'x']],
  ['content-encoding', ['gzip']],
  ['origin', ['http://a.example', 'null']],
  ['access-control-request-method', ['GET']],
  ['x-request-id', ['a', '"<b>"']],
  ['isolation', ['snapshot']],
  ['x-forwarded-host', ['evil/x']],
];

const bodies = [
  '{"requests":[{"id":"1","method":"get","url":"EntityEvent?$top=1"},{"id":"2","method":"GET","url":"$1","dependsOn":["1"]}]}',
  '{"requests":[{"id":"1","method":"post","url":"Property/$query","headers":{"content-type":"text/plain"},"body":"$top=1"}]}',
  '{"requests":[{"id":"1","atomicityGroup":"g","method":"DELETE","url":"/Property(\'L1\')"},{"id":"2","method":"get","url":"\\ud800"}]}',
  '--b\r\nContent-Type: application/http\r\n\r\nGET EntityEvent(1) HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--b--',
  '--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n--c\r\n\r\nPOST Property HTTP/1.1\r\n\r\n{}\r\n--c--\r\n--b--',
  '$filter=ListPrice gt 5&$top=2',
  "$filter=City eq 'Ütrecht'",
  '{}',
  '[]',
  '"',
  'null',
  '\u0000',
  '',
] as const;

/** Pieces that parsers trip over. */
const nasty = [
  '%',
  '%00',
  '%C0%80',
  '%ED%A0%80',
  '%zz',
  '%25',
  '%27',
  "'",
  "''",
  '(',
  ')',
  '((((((((',
  '))))',
  '*',
  ',',
  ';',
  '&',
  '&&',
  '=',
  '+',
  '#',
  '?',
  '/',
  '//',
  '/../',
  '..',
  '$',
  '@',
  '@n',
  '$it',
  '$this',
  'null',
  'true',
  'NaN',
  '-INF',
  '9223372036854775808',
  '-9223372036854775808',
  '1e999',
  '1e-999',
  '0.0000000000000000000000001',
  '2024-02-30',
  '9999-12-31T23:59:59.999999999999Z',
  '0000-01-01',
  '-9999-01-01',
  "duration'P999999999999D'",
  "binary'AA=='",
  ' eq ',
  ' and ',
  ' or ',
  ' not ',
  ' in ',
  ' has ',
  ' div 0',
  ' mod ',
  ' mul ',
  'cast(',
  'isof(',
  'any(d:d)',
  '/$count',
  '/$value',
  '/$ref',
  'concat(',
  '[',
  ']',
  '{',
  '}',
  '"',
  '\\',
  '\\u0000',
  '\ufeff',
  '\u00e9',
  '\ud83d\ude00',
  ' ',
  '\t',
  '\r\n',
  '--b',
  '--b--',
  '-',
  'é',
  '<script>',
] as const;

/** The next request: a mostly sensible one, most often with a few faults put into it. */
export function nextRequest(random: SeededRandom): FuzzRequest {
  const query = times(random, 4, () => {
    // The first few are what is served; the rest would drown them in refusals.
    const [name, values] = pick(random, random.below(4) === 0 ? options : options.slice(0, 7));
    return `${spelled(random, name)}=${encoded(random, pick(random, values))}`;
  });
  const method = pick(random, methods);
  const headers = Object.fromEntries(
    times(random, 4, () => {
      const [name, values] = pick(random, random.below(4) === 0 ? headerValues : headerValues.slice(0, 3));
      return [name, mutated(random, pick(random, values), 6)] as const;
    }),
  );
  const path = pick(random, paths) + (query.length === 0 ? '' : `?${query.join('&')}`);
  const posted = path.includes('$batch') || path.includes('$query');
  const body = posted || random.below(10) === 0 ? mutated(random, pick(random, bodies), 2) : undefined;
  return {
    method: posted && random.below(8) > 0 ? 'POST' : method,
    path: mutated(random, path, 3),
    headers:
      posted && random.below(8) > 0 ? { ...headers, 'content-type': matchingType(body ?? '') } : headers,
    body,
  };
}

function matchingType(body: string): string {
  if (body.startsWith('--')) return 'multipart/mixed;boundary=b';
  return body.startsWith('$') ? 'text/plain' : 'application/json';
}

function pick<T>(random: SeededRandom, from: readonly T[]): T {
  return from[random.below(from.length)] as T;
}

function times<T>(random: SeededRandom, limit: number, make: () => T): T[] {
  return Array.from({ length: random.below(limit) }, make);
}

function spelled(random: SeededRandom, name: string): string {
  switch (random.below(8)) {
    case 0:
      return name.replace('$', '%24');
    case 1:
      return name.replace('$', '');
    case 2:
      return name.toUpperCase();
    default:
      return name;
  }
}

function encoded(random: SeededRandom, value: string): string {
  return random.below(3) === 0 ? value.replaceAll(' ', '+') : encodeURIComponent(value);
}

/** Puts faults into a text, once in `rarity` a fault, now and then many or a very long one. */
function mutated(random: SeededRandom, text: string, rarity: number): string {
  let result = text;
  for (let fault = 0; fault < 6 && random.below(rarity) === 0; fault += 1) {
    const at = random.below(result.length + 1);
    const end = Math.min(result.length, at + random.below(6));
    switch (random.below(7)) {
      case 0:
        result = result.slice(0, at) + result.slice(end);
        break;
      case 1:
        result = result.slice(0, end) + result.slice(at);
        break;
      case 2:
        result = result.slice(0, at);
        break;
      case 3:
        result = result.slice(0, at) + pick(random, nasty).repeat(1 + random.below(40)) + result.slice(at);
        break;
      case 4:
        result = result.slice(0, at) + pick(random, expressions) + result.slice(end);
        break;
      case 5:
        result = result.slice(0, at) + String.fromCharCode(random.below(256)) + result.slice(at + 1);
        break;
      default:
        result = result.slice(0, at) + pick(random, nasty) + result.slice(end);
    }
  }
  // Rare, and long enough to meet every limit.
  if (random.below(400) === 0) {
    const at = random.below(result.length + 1);
    result = result.slice(0, at) + pick(random, nasty).repeat(1 + random.below(30_000)) + result.slice(at);
  }
  return result;
}
