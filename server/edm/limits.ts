/**
 * Bounds on one parsed text; beyond one of them parsing stops with a `limit` error that names it. The defaults let 1,000
 * clauses or an `in` of 2,000 keys through and keep every later recursion over the tree within some 100 frames.
 */
export interface ExpressionLimits {
  /** UTF-16 units of the text. */
  readonly maxLength: number;
  /** Height of the tree, parentheses counted. */
  readonly maxDepth: number;
  /** Nodes of the tree, list items not counted. */
  readonly maxNodes: number;
  /** Items of one list. */
  readonly maxListItems: number;
}

/** See ExpressionLimits. */
export const DEFAULT_LIMITS: ExpressionLimits = {
  maxLength: 131072,
  maxDepth: 100,
  maxNodes: 10000,
  maxListItems: 2000,
};
