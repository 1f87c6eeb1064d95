/** An exact decimal: `coefficient * 10 ** -scale`, scale not negative. Several forms may state one number; compare with `compareDecimals`. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly scale: number;
}

/** Fraction digits that `div` and `divby` of decimals keep; the rest is cut off, in SQL and here alike. */
export const QUOTIENT_DIGITS = 20;

/** The decimal of a bigint. */
export function decimalOf(value: bigint): Decimal {
  return { coefficient: value, scale: 0 };
}

/**
 * Reads `[+-]digits[.digits][e[+-]digits]` exactly. The result holds some |exponent| digits more than the text, so the caller
 * bounds the exponent. @throws RangeError for anything else.
 */
export function parseDecimal(text: string): Decimal {
  const found = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (found === null) throw new RangeError(`not a decimal: ${text}`);
  const [, sign, whole = '0', fraction = '', exponent = '0'] = found;
  const digits = BigInt(whole + fraction);
  const scale = fraction.length - Number(exponent);
  const coefficient = sign === '-' ? -digits : digits;
  return scale >= 0 ? { coefficient, scale } : { coefficient: coefficient * 10n ** BigInt(-scale), scale: 0 };
}

/** The decimal that the shortest text of a finite double states: what `value::text::numeric` is in Postgres. */
export function decimalOfDouble(value: number): Decimal {
  return parseDecimal(String(value));
}

function aligned(a: Decimal, b: Decimal): readonly [bigint, bigint, number] {
  if (a.scale === b.scale) return [a.coefficient, b.coefficient, a.scale];
  return a.scale > b.scale
    ? [a.coefficient, b.coefficient * 10n ** BigInt(a.scale - b.scale), a.scale]
    : [a.coefficient * 10n ** BigInt(b.scale - a.scale), b.coefficient, b.scale];
}

/** Negative, zero or positive as a is less than, equal to or greater than b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const [x, y] = aligned(a, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** a + b. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const [x, y, scale] = aligned(a, b);
  return { coefficient: x + y, scale };
}

/** -a. */
export function negateDecimal(a: Decimal): Decimal {
  return { coefficient: -a.coefficient, scale: a.scale };
}

/** a * b. */
export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return { coefficient: a.coefficient * b.coefficient, scale: a.scale + b.scale };
}

/** a / b cut off towards zero after `digits` fraction digits; null when b is zero. */
export function divideDecimals(a: Decimal, b: Decimal, digits: number): Decimal | null {
  const [x, y] = aligned(a, b);
  return y === 0n ? null : { coefficient: (x * 10n ** BigInt(digits)) / y, scale: digits };
}

/** The remainder with the sign of a; null when b is zero. */
export function remainderOfDecimals(a: Decimal, b: Decimal): Decimal | null {
  const [x, y, scale] = aligned(a, b);
  return y === 0n ? null : { coefficient: x % y, scale };
}

/** The integer nearest to a, halves away from zero. */
export function roundDecimal(a: Decimal): Decimal {
  const unit = 10n ** BigInt(a.scale);
  const doubled = a.coefficient * 2n;
  const half = doubled < 0n ? -unit : unit;
  return decimalOf((doubled + half) / (unit * 2n));
}

/** The greatest integer not above a. */
export function floorDecimal(a: Decimal): Decimal {
  const unit = 10n ** BigInt(a.scale);
  const quotient = a.coefficient / unit;
  return decimalOf(a.coefficient < 0n && quotient * unit !== a.coefficient ? quotient - 1n : quotient);
}

/** The least integer not below a. */
export function ceilingDecimal(a: Decimal): Decimal {
  return negateDecimal(floorDecimal(negateDecimal(a)));
}

/** True when a has no fraction. */
export function isInteger(a: Decimal): boolean {
  return a.coefficient % 10n ** BigInt(a.scale) === 0n;
}

/** Plain decimal text, no exponent, all fraction digits kept. */
export function decimalText(a: Decimal): string {
  if (a.scale === 0) return a.coefficient.toString();
  const digits = (a.coefficient < 0n ? -a.coefficient : a.coefficient).toString().padStart(a.scale + 1, '0');
  const cut = digits.length - a.scale;
  return `${a.coefficient < 0n ? '-' : ''}${digits.slice(0, cut)}.${digits.slice(cut)}`;
}
