import type { TypedValue } from './typed.ts';

/**
 * The greatest integer N such that a row fulfilling `filter` must have `property` above N, read from the conditions
 * that are joined with `and` at the top; undefined when they set no lower bound.
 */
export function lowerBound(filter: TypedValue | undefined, property: string): bigint | undefined {
  if (filter === undefined) return undefined;
  if (filter.kind === 'and') {
    let greatest: bigint | undefined;
    for (const part of filter.operands) {
      const bound = lowerBound(part, property);
      if (bound !== undefined && (greatest === undefined || bound > greatest)) greatest = bound;
    }
    return greatest;
  }
  if (filter.kind !== 'compare') return undefined;
  const { left, right, op } = filter;
  if (left.kind !== 'field' || left.via.length > 0 || left.property.name !== property) return undefined;
  if (right.kind !== 'literal' || right.value.kind !== 'number' || right.value.value.scale !== 0)
    return undefined;
  const value = right.value.value.coefficient;
  if (op === 'gt') return value;
  return op === 'ge' || op === 'eq' ? value - 1n : undefined;
}
