import { fromDatabase, PulsefeedError } from '../errors.ts';

/** What goes to the client for an error: status, headers and an OData error object (JSON Format 19). */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly code: string;
}

/** Turns anything thrown into an answer. Faults of ours keep their message, stack and SQL out of it. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const known = fromHttp(error) ?? fromDatabase(error);
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
