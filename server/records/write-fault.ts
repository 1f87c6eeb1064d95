import { PulsefeedError, sqlState } from '../base/errors.ts';
import type { RecordResource } from './schema.ts';
import { fieldColumns } from './write-columns.ts';

/**
 * What the provider's own database says of a record that is written, as a fault of the request: it may have constraints
 * and triggers that nobody else knows of. Anything else is returned as it is.
 */
export function writeFault(error: unknown, resource: RecordResource): unknown {
  if (error instanceof PulsefeedError) return error;
  const state = sqlState(error) ?? '';
  switch (state) {
    case '23505':
      return new PulsefeedError(
        'EE-119',
        'A record with this key, or another value that must be unique, exists already.',
        {
          cause: error,
        },
      );
    case '23503':
      return new PulsefeedError(
        'EE-119',
        'Another record stands in the way: one that is named does not exist, or one names this.',
        {
          cause: error,
        },
      );
    case '23502':
      return refused(error, resource, 'is required');
    case '428C9':
    case '23514':
    case '23P01':
    case 'P0001':
      return new PulsefeedError('EE-114', 'The database refused the record by a rule of its own.', {
        cause: error,
      });
    default:
      return /^22...$/.test(state)
        ? new PulsefeedError('EE-114', 'A value in the body is out of range for its field.', { cause: error })
        : error;
  }
}

function refused(error: unknown, resource: RecordResource, what: string): PulsefeedError {
  const column =
    typeof error === 'object' && error !== null && 'column' in error ? String(error.column) : undefined;
  const target = [...fieldColumns(resource)].find(([, { name }]) => name === column)?.[0];
  const message = `${target ?? 'A field'} ${what}.`;
  return new PulsefeedError('EE-114', message, {
    cause: error,
    details: [{ code: 'EE-114', message, ...(target === undefined ? {} : { target }) }],
  });
}
