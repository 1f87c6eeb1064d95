import type { Decimal } from './decimal.ts';
import type { Compare, TypedValue } from './typed.ts';

/**
 * The greatest integer N such that a row fulfilling `filter` must have `property`, an integer that is never null, above
 * N, read from comparisons with a number, whichever side it is on, under `and`, `or` and `not`; undefined when they set
 * no lower bound. Whoever asks from a lost place must not escape its answer by another spelling of `gt N`.
 */
export function lowerBound(filter: TypedValue | undefined, property: string): bigint | undefined {
  switch (filter?.kind) {
    case 'and':
      return boundsOf(filter.operands, property).at(-1);
    case 'or': {
      const bounds = boundsOf(filter.operands, property);
      return bounds.length === filter.operands.length ? bounds[0] : undefined;
    }
    case 'not':
      return lowerBound(negated(filter.operand), property);
    case 'compare':
      return boundOf(filter, property);
    default:
      return undefined;
  }
}

/** Those that there are, ascending. */
function boundsOf(operands: readonly TypedValue[], property: string): bigint[] {
  const bounds = operands.map(operand => lowerBound(operand, property)).filter(bound => bound !== undefined);
  return bounds.sort((a, b) => (a < b ? -1 : 1));
}

/** The comparison that holds where this one does not, for values that are not null. */
const opposite = { eq: 'ne', ne: 'eq', gt: 'le', ge: 'lt', lt: 'ge', le: 'gt' } as const;
/** The same comparison with its sides changed. */
const mirrored = { eq: 'eq', ne: 'ne', gt: 'lt', ge: 'le', lt: 'gt', le: 'ge' } as const;

function negated(filter: TypedValue): TypedValue | undefined {
  if (filter.kind === 'not') return filter.operand;
  return filter.kind === 'compare' ? { ...filter, op: opposite[filter.op] } : undefined;
}

function boundOf({ left, right, op }: Compare, property: string): bigint | undefined {
  const [field, literal, asked] = left.kind === 'literal' ? [right, left, mirrored[op]] : [left, right, op];
  if (field.kind !== 'field' || field.via.length > 0 || field.property.name !== property) return undefined;
  if (literal.kind !== 'literal' || literal.value.kind !== 'number') return undefined;
  const { whole, exact } = floor(literal.value.value);
  if (asked === 'gt') return whole;
  return asked === 'ge' || asked === 'eq' ? (exact ? whole - 1n : whole) : undefined;
}

function floor({ coefficient, scale }: Decimal): { readonly whole: bigint; readonly exact: boolean } {
  const unit = 10n ** BigInt(scale);
  const quotient = coefficient / unit;
  const exact = quotient * unit === coefficient;
  return { whole: exact || coefficient > 0n ? quotient : quotient - 1n, exact };
}
