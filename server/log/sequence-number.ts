/**
 * A number of the log: the positive part of Int64 (RCP-027). Compared anywhere, computed only in this folder, and
 * never turned into a JavaScript number.
 */
export type EntityEventSequence = bigint & { readonly __brand: 'EntityEventSequence' };

/** The largest Int64. */
export const maxSequence = 9223372036854775807n;

/** Marks a bigint from the database as a number of the log. */
export function asSequence(value: bigint): EntityEventSequence {
  return value as EntityEventSequence;
}
