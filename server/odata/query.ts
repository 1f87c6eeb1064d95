import { type ErrorCode, PulsefeedError } from '../base/errors.ts';
import { ExpressionError, type QueryOptions, readQueryOptions, type SystemOption } from '../edm/index.ts';

/** Reads the query of a URL. @throws EE-101 to EE-103 as the fault is. */
export function readQuery(rawQuery: string): QueryOptions {
  return refusing(undefined, () => readQueryOptions(rawQuery));
}

/**
 * Runs `read` and turns what the expression language refuses into an OData error that names the option.
 * @throws EE-101, EE-103, EE-106 or EE-112
 */
export function refusing<T>(option: SystemOption | 'key' | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const target = option === undefined ? 'query' : option === 'key' ? 'key' : `$${option}`;
    throw new PulsefeedError(
      codeOf(error),
      `${error.message} (at character ${error.position} of ${target})`,
      {
        target,
        cause: error,
      },
    );
  }
}

function codeOf(error: ExpressionError): ErrorCode {
  switch (error.kind) {
    case 'unsupported':
      return 'EE-112';
    case 'limit':
      return 'EE-106';
    case 'unknown-name':
      return error.message.startsWith('There is no query option') ? 'EE-103' : 'EE-101';
    case 'syntax':
      return error.message.endsWith('is given twice.') ? 'EE-102' : 'EE-101';
    case 'type':
      return 'EE-101';
    default: {
      const never: never = error.kind;
      return never;
    }
  }
}

/** @throws EE-112 for an option that OData knows and this place does not serve (Protocol 9.3.1). */
export function refuseUnserved(query: QueryOptions, served: readonly SystemOption[]): void {
  for (const name of query.system.keys()) {
    if (!served.includes(name)) {
      throw new PulsefeedError('EE-112', `$${name} is not served here.`, { target: `$${name}` });
    }
  }
}
