import type { FunctionName } from './typed.ts';

/** What a function takes at one place; `datetime` is a Date or DateTimeOffset, `clock` a DateTimeOffset or TimeOfDay. */
export type ParameterKind = 'string' | 'integer' | 'number' | 'datetime' | 'clock' | 'instant' | 'duration';

/** Parameters in order (the last `optional` of them may be left out) and result of a function. */
export interface FunctionShape {
  readonly name: FunctionName;
  readonly parameters: readonly ParameterKind[];
  readonly optional: number;
  readonly result:
    | 'Edm.Boolean'
    | 'Edm.Int32'
    | 'Edm.String'
    | 'Edm.Decimal'
    | 'Edm.Date'
    | 'Edm.TimeOfDay'
    | 'Edm.DateTimeOffset';
}

function shape(
  name: FunctionName,
  parameters: readonly ParameterKind[],
  result: FunctionShape['result'],
  optional = 0,
): readonly [string, FunctionShape] {
  return [name, { name, parameters, optional, result }];
}

/** The functions that are served, by lower-case name. OData URL Conventions 4.01, sections 5.1.1.5 to 5.1.1.9. */
export const FUNCTIONS: ReadonlyMap<string, FunctionShape> = new Map([
  shape('concat', ['string', 'string'], 'Edm.String'),
  shape('contains', ['string', 'string'], 'Edm.Boolean'),
  shape('endswith', ['string', 'string'], 'Edm.Boolean'),
  shape('indexof', ['string', 'string'], 'Edm.Int32'),
  shape('length', ['string'], 'Edm.Int32'),
  shape('startswith', ['string', 'string'], 'Edm.Boolean'),
  shape('substring', ['string', 'integer', 'integer'], 'Edm.String', 1),
  shape('tolower', ['string'], 'Edm.String'),
  shape('toupper', ['string'], 'Edm.String'),
  shape('trim', ['string'], 'Edm.String'),
  shape('date', ['instant'], 'Edm.Date'),
  shape('day', ['datetime'], 'Edm.Int32'),
  shape('fractionalseconds', ['clock'], 'Edm.Decimal'),
  shape('hour', ['clock'], 'Edm.Int32'),
  shape('maxdatetime', [], 'Edm.DateTimeOffset'),
  shape('mindatetime', [], 'Edm.DateTimeOffset'),
  shape('minute', ['clock'], 'Edm.Int32'),
  shape('month', ['datetime'], 'Edm.Int32'),
  shape('now', [], 'Edm.DateTimeOffset'),
  shape('second', ['clock'], 'Edm.Int32'),
  shape('time', ['instant'], 'Edm.TimeOfDay'),
  shape('totaloffsetminutes', ['instant'], 'Edm.Int32'),
  shape('totalseconds', ['duration'], 'Edm.Decimal'),
  shape('year', ['datetime'], 'Edm.Int32'),
  shape('ceiling', ['number'], 'Edm.Decimal'),
  shape('floor', ['number'], 'Edm.Decimal'),
  shape('round', ['number'], 'Edm.Decimal'),
]);

/** Functions of the standard that are refused with 501, with the reason told to the client. */
export const REFUSED_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['matchespattern', 'Regular expressions are not supported, since one pattern can take unbounded time.'],
  ['hassubset', 'Functions on collections are not supported; use any and all.'],
  ['hassubsequence', 'Functions on collections are not supported; use any and all.'],
  ['case', 'The function case is not supported.'],
  ['geo.distance', 'Geo functions are not supported.'],
  ['geo.intersects', 'Geo functions are not supported.'],
  ['geo.length', 'Geo functions are not supported.'],
]);
