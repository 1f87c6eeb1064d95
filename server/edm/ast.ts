/** Where a node stands in the parsed text: UTF-16 offsets, `end` exclusive. */
export interface Span {
  readonly at: number;
  readonly end: number;
}

/** The lexical classes of literals; `number` keeps integers and decimals (INF and NaN too) as written. */
export type LiteralClass =
  | 'null'
  | 'boolean'
  | 'number'
  | 'string'
  | 'date'
  | 'timeOfDay'
  | 'dateTimeOffset'
  | 'duration'
  | 'guid'
  | 'binary'
  | 'enum';

/**
 * A literal. `text` is the exact source text, never rounded or normalised; for `string`, `duration`, `binary` and `enum` it
 * is what stands between the quotes, with doubled quotes read as one. `enumType` is the qualified prefix of an enum literal.
 */
export interface Literal extends Span {
  readonly kind: 'literal';
  readonly literal: LiteralClass;
  readonly text: string;
  readonly enumType?: string;
}

/** One step of a path: a property, relation, range variable or qualified type name. */
export interface PathSegment {
  readonly name: string;
  readonly at: number;
}

/** What a path starts from when it says so: `$it` the instance of the request, `$this` the instance of the collection, `$root`. */
export type PathRoot = '$it' | '$this' | '$root';

/** A path. Without a root its first segment is a range variable in scope or a member of the instance. */
export interface Path extends Span {
  readonly kind: 'path';
  readonly root?: PathRoot;
  readonly segments: readonly PathSegment[];
}

/** A parameter alias `@name`; `name` is without the `@`. */
export interface Alias extends Span {
  readonly kind: 'alias';
  readonly name: string;
}

/** `@consumer.Attribute`, an attribute of whoever asks: an extension for visibility rules. */
export interface ConsumerAttribute extends Span {
  readonly kind: 'consumer';
  readonly attribute: string;
}

/** A chain of one logical operator, at least two operands. Parenthesised chains stay nested. */
export interface Logic extends Span {
  readonly kind: 'and' | 'or';
  readonly operands: readonly Expr[];
}

/** `not x` or `-x`. `-5` is a literal, `-(5)` and `- 5` are this. */
export interface Unary extends Span {
  readonly kind: 'not' | 'negate';
  readonly operand: Expr;
}

/** Operators of two operands, all left-associative. */
export type BinaryOperator =
  | 'eq'
  | 'ne'
  | 'gt'
  | 'ge'
  | 'lt'
  | 'le'
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'divby'
  | 'mod'
  | 'has';

/** `left op right`; `opAt` is where the operator stands. */
export interface Binary extends Span {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly opAt: number;
  readonly left: Expr;
  readonly right: Expr;
}

/** The right side of `in`: literals and aliases. */
export interface List extends Span {
  readonly kind: 'list';
  readonly items: readonly (Literal | Alias)[];
}

/** `left in (1,2)`, `left in ["a"]`, `left in Collection`, `left in @list`. */
export interface In extends Span {
  readonly kind: 'in';
  readonly left: Expr;
  readonly right: List | Path | Alias;
}

/** A call of a function of the standard; `name` is in lower case, the number of arguments is right. */
export interface Call extends Span {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly Expr[];
}

/** `cast(x,T)`, `isof(x,T)`; `operand` is null when only the type is given and the current instance is meant. */
export interface TypeCall extends Span {
  readonly kind: 'typeCall';
  readonly name: 'cast' | 'isof';
  readonly operand: Expr | null;
  readonly typeName: string;
  readonly typeAt: number;
}

/** `path/any(v:body)`, `path/all(v:body)`; `any()` has neither variable nor body. */
export interface Lambda extends Span {
  readonly kind: 'lambda';
  readonly quantifier: 'any' | 'all';
  readonly source: Path;
  readonly variable: string | null;
  readonly body: Expr | null;
}

/** `path/$count` or `path/$count($filter=...)`. */
export interface Count extends Span {
  readonly kind: 'count';
  readonly source: Path;
  readonly filter: Expr | null;
}

/** The syntax tree of an expression. */
export type Expr =
  | Literal
  | Path
  | Alias
  | ConsumerAttribute
  | Logic
  | Unary
  | Binary
  | In
  | Call
  | TypeCall
  | Lambda
  | Count;

/** One `$orderby` item. */
export interface OrderItem {
  readonly expr: Expr;
  readonly descending: boolean;
}

/** One `$select` item: a path of names, or `*`. */
export interface SelectItem {
  readonly path: readonly PathSegment[];
  readonly star: boolean;
  readonly at: number;
}

/** One `$expand` item with its options. `star` expands every relation; `ref` and `count` are `/$ref` and `/$count`. */
export interface ExpandItem {
  readonly path: readonly PathSegment[];
  readonly star: boolean;
  readonly suffix: 'ref' | 'count' | null;
  readonly at: number;
  readonly options: ExpandOptions;
}

/** The nested options of one `$expand` item; an absent one was not given. */
export interface ExpandOptions {
  readonly filter?: Expr;
  readonly orderby?: readonly OrderItem[];
  readonly select?: readonly SelectItem[];
  readonly expand?: readonly ExpandItem[];
  readonly top?: number;
  readonly skip?: number;
  readonly count?: boolean;
}
