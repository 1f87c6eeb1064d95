import { fromDatabase, PulsefeedError, sqlState } from '../errors.ts';

/** What goes to the client for an error: status, headers and an OData error object (JSON Format 19). */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly code: string;
}

/** Turns anything thrown into an answer. Faults of ours keep their message, stack and SQL out of it. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const known = fromHttp(error) ?? fromStatement(error) ?? fromDatabase(error);
  const { code, message, target, details } = known;
  return {
    status: known.status,
    headers: known.headers,
    code,
    body: JSON.stringify({
      error: {
        code,
        message,
        ...(target === undefined ? {} : { target }),
        ...(details.length === 0 ? {} : { details }),
      },
    }),
  };
}

/** Errors that express and its body parsers throw carry `status` and `type`. */
function fromHttp(error: unknown): PulsefeedError | undefined {
  if (!(error instanceof Error) || error instanceof PulsefeedError || !('status' in error)) return undefined;
  switch (error.status) {
    case 413:
      return new PulsefeedError('EE-110', 'The body is larger than this service takes.', { cause: error });
    case 415:
      return new PulsefeedError('EE-111', 'The charset or encoding of the body is not supported.', {
        cause: error,
      });
    case 400:
      return new PulsefeedError('EE-100', 'The request cannot be read.', { cause: error });
    default:
      return undefined;
  }
}

/**
 * What the database says about the values and the size of a statement that a client's request became: a fault of the
 * request, whose message stays ours since the database's own would show SQL.
 */
function fromStatement(error: unknown): PulsefeedError | undefined {
  const state = error instanceof PulsefeedError ? undefined : sqlState(error);
  if (state === undefined) return undefined;
  if (state === '57014') {
    return new PulsefeedError(
      'EE-106',
      'The database did not finish this request in the time that it is given; ask for less at once.',
      { cause: error },
    );
  }
  // Class 54: too complex, too many columns or arguments.
  if (/^54...$/.test(state)) {
    return new PulsefeedError('EE-106', 'The request is too complex for the database.', { cause: error });
  }
  // Class 22: a number out of range, a division by zero, a text that cannot be stored, a broken pattern.
  if (/^22...$/.test(state)) {
    return new PulsefeedError('EE-101', 'A value in the request, or one computed from it, is out of range.', {
      cause: error,
    });
  }
  return undefined;
}
