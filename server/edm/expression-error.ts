/**
 * Why a text was refused: `syntax` (not the language), `type` (wrong type, arity or value), `limit` (too long, too deep, too
 * many), `unknown-name` (no such property, function, type or option) are answered with 400; `unsupported` (the standard
 * knows it, this service does not) with 501.
 */
export type ExpressionErrorKind = 'syntax' | 'type' | 'limit' | 'unsupported' | 'unknown-name';

/**
 * The one error of the expression language. `position` counts UTF-16 units from the start of the text that was parsed,
 * `expected` says in words what could have stood there. The message is fit for a client: it holds nothing but the client's
 * own text and names of the public model.
 */
export class ExpressionError extends Error {
  readonly kind: ExpressionErrorKind;
  readonly position: number;
  readonly expected: string | undefined;

  constructor(kind: ExpressionErrorKind, message: string, position: number, expected?: string) {
    super(message);
    this.name = 'ExpressionError';
    this.kind = kind;
    this.position = position;
    this.expected = expected;
  }
}
