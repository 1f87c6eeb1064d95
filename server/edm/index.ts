/**
 * OData's expression language over an entity model: parse, bind to the model, translate to SQL, evaluate.
 * A request's way is `readQueryOptions` -> `parseExpression` -> `bindFilter` -> `filterToSql`; nothing here touches a database.
 */
export type * from './ast.ts';
export { bindExpression, bindFilter, bindOrderBy, type TypedOrderItem } from './bind.ts';
export { castText } from './bind-literal.ts';
export type { BindOptions } from './binder.ts';
export { type ColumnMapping, mapColumn } from './column-type.ts';
export {
  type DictionaryField,
  type DictionaryKind,
  dictionaryField,
  dictionaryRatified,
  lookupValues,
} from './data-dictionary.ts';
export { decimalText } from './decimal.ts';
export type * from './entity-set.ts';
export { type EvaluateOptions, evaluate, evaluateFilter, type Row, type Value } from './evaluate.ts';
export { ExpressionError, type ExpressionErrorKind } from './expression-error.ts';
export { type FieldNames, fieldNames, type ServedColumn } from './field-names.ts';
export { arraySlices, objectSlices } from './json-slices.ts';
export { bindKey, type KeyPredicate, parseKeyPredicate } from './key.ts';
export { DEFAULT_LIMITS, type ExpressionLimits } from './limits.ts';
export * from './model.ts';
export { parseExpression } from './parse.ts';
export { parseExpand } from './parse-expand.ts';
export { parseBoolean, parseNonNegativeInteger, parseOrderBy, parseSelect } from './parse-options.ts';
export type { ParseOptions } from './parser-state.ts';
export { printExpression, printOrderBy, quoteString } from './print.ts';
export {
  decodeOnce,
  type GivenOption,
  isSystemOption,
  type QueryOptions,
  readQueryOptions,
  type SystemOption,
} from './query-options.ts';
export { orderSql, type SeekItem, seekItems, seekSql } from './seek.ts';
export { lowerBound } from './sequence-bound.ts';
export {
  type BindValue,
  columnSql,
  quoteIdentifier,
  type SqlFragment,
  type SqlOptions,
  type SqlValue,
  sqlTypeOf,
  tableSql,
} from './sql-writer.ts';
export { entityTypesOf, recordNamespace, ruleTypeOf } from './table-type.ts';
export {
  filterToSql,
  keyToSql,
  orderByClause,
  orderByToSql,
  type SqlOrderItem,
  valueToSql,
} from './to-sql.ts';
export type * from './typed.ts';
export { isNullable, operandsOf, valueType } from './typed.ts';
