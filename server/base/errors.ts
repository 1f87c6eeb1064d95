/**
 * Every fault that Pulsefeed can name. One row is the whole truth about a code: it answers clients, fills the
 * operator's log and generates docs/reference/errors.md. A code is never reused for another meaning.
 *
 * Bands: EE-1xx request, 2xx auth and visibility, 3xx log, 4xx subscriptions, 5xx push, 6xx compaction,
 * 7xx configuration and start, 9xx fault of ours.
 */
export const errorRegistry = {
  'EE-100': { status: 400, title: 'Malformed request', remedy: 'Correct the request as the message says.' },
  'EE-101': {
    status: 400,
    title: 'Invalid query option',
    remedy: 'Correct the option named in target; the message gives the position and what was expected.',
  },
  'EE-102': {
    status: 400,
    title: 'Query option given twice',
    remedy: 'Send each system query option once, in one spelling.',
  },
  'EE-103': {
    status: 400,
    title: 'Unknown query option',
    remedy: 'Remove the option; options that begin with $ belong to OData.',
  },
  'EE-104': {
    status: 400,
    title: 'Invalid continuation token',
    remedy: 'Use the nextLink exactly as it was given, or start again from your last EntityEventSequence.',
  },
  'EE-105': {
    status: 410,
    title: 'Position no longer exists',
    remedy:
      'Start again with $filter=EntityEventSequence ge 0 and follow nextLink: numbers were lost by a restore, or removals are not kept so long.',
  },
  'EE-106': {
    status: 400,
    title: 'Limit exceeded',
    remedy: 'Send a shorter or simpler request, or POST long filters to /$query.',
  },
  'EE-107': {
    status: 404,
    title: 'Not found',
    remedy: 'The resource or record does not exist or is not visible to you. A record: delete your copy.',
  },
  'EE-108': {
    status: 405,
    title: 'Method not allowed',
    remedy: 'Use one of the methods in the Allow header.',
  },
  'EE-109': {
    status: 406,
    title: 'Not acceptable',
    remedy: 'Accept application/json with parameters that this service supports.',
  },
  'EE-110': {
    status: 413,
    title: 'Body too large',
    remedy: 'Send a smaller body; the limit is in the message.',
  },
  'EE-111': {
    status: 415,
    title: 'Unsupported media type',
    remedy: 'Send the Content-Type named in the message.',
  },
  'EE-112': {
    status: 501,
    title: 'Not implemented by this service',
    remedy: 'Leave the construct named in the message out; docs/conformance.md lists what is served.',
  },
  'EE-113': {
    status: 400,
    title: 'Unsupported OData version',
    remedy: 'Send OData-MaxVersion 4.0 or 4.01, or leave it out.',
  },
  'EE-114': {
    status: 400,
    title: 'Invalid body',
    remedy: 'Correct the members listed in details; nothing was written.',
  },
  'EE-115': {
    status: 414,
    title: 'URI too long',
    remedy: 'POST the query options to /$query instead.',
  },
  'EE-116': {
    status: 412,
    title: 'Precondition failed',
    remedy: 'Read the record again and repeat the change with its present ETag.',
  },
  'EE-117': { status: 431, title: 'Header fields too large', remedy: 'POST the query options to /$query.' },
  'EE-118': {
    status: 424,
    title: 'Failed dependency',
    remedy: 'The request in the batch that this one depends on failed; correct that one.',
  },
  'EE-119': { status: 409, title: 'Conflict', remedy: 'The record exists already; PATCH or PUT it instead.' },
  'EE-200': {
    status: 401,
    title: 'Not authenticated',
    remedy: 'Send Authorization: Bearer with a valid token.',
  },
  'EE-201': {
    status: 403,
    title: 'Not allowed',
    remedy: 'The token lacks the scope named in the message; ask the provider for it.',
  },
  'EE-202': {
    status: 429,
    title: 'Too many requests',
    remedy: 'Wait as long as Retry-After says.',
  },
  'EE-203': {
    status: 500,
    title: 'Invalid visibility rule',
    remedy: 'Correct the rule named in the message.',
  },
  'EE-204': {
    status: 409,
    title: 'Another rule change is still being applied',
    remedy: 'Wait until `pulsefeed feeds status` shows it finished; undoing is another apply after it.',
  },
  'EE-205': {
    status: 404,
    title: 'No such consumer',
    remedy: 'List consumers with `pulsefeed consumer list`.',
  },
  'EE-206': {
    status: 503,
    title: 'Identity server cannot be reached',
    remedy: 'Try again after Retry-After. The operator checks that `jwksUrl` answers with a key set.',
  },
  'EE-300': {
    status: 503,
    title: 'Log not ready',
    remedy: 'Run `pulsefeed migrate`, then check `pulsefeed doctor`.',
  },
  'EE-301': {
    status: 503,
    title: 'Rules differ',
    remedy: 'This process was started with another set of resources than the log holds; restart it.',
  },
  'EE-302': {
    status: 503,
    title: 'Sequencer does not move',
    remedy: 'See `pulsefeed doctor`: a hung session, an unreachable database or a table that is gone.',
  },
  'EE-303': {
    status: 503,
    title: 'Numbers were lost',
    remedy:
      'The database was restored, and this process may not open the new epoch: run `pulsefeed epoch new`.',
  },
  'EE-304': {
    status: 503,
    title: 'Archive cannot be read',
    remedy:
      'Run `pulsefeed archive verify`: a segment is missing, damaged or out of reach, or the setting `archive` is not set. Nothing else is affected.',
  },
  'EE-500': {
    status: 409,
    title: 'Too many subscriptions',
    remedy: 'Delete one that is not used any more, or ask the provider for more.',
  },
  'EE-501': {
    status: 500,
    title: 'Secret cannot be opened',
    remedy: 'Add the key that it was sealed with to PULSEFEED_SECRET_KEY, or make the secret anew.',
  },
  'EE-502': {
    status: 400,
    title: 'Callback not allowed',
    remedy: 'Give an https URL with a public address and one of the ports named in the message.',
  },
  'EE-503': {
    status: 409,
    title: 'Subscription must be initialised anew',
    remedy: 'Seek it to 0, which sends everything again.',
  },
  'EE-504': {
    status: 500,
    title: 'Push is off',
    remedy: 'Set PULSEFEED_SECRET_KEY to a random text of 32 characters or more.',
  },
  'EE-505': {
    status: 404,
    title: 'No such subscription',
    remedy: 'List subscriptions with `pulsefeed webhook list`.',
  },
  'EE-600': {
    status: 500,
    title: 'Compaction found a fault',
    remedy: 'Stop compaction and report the difference that the message names.',
  },
  'EE-700': { status: 500, title: 'Invalid configuration', remedy: 'Correct every fault in the list.' },
  'EE-701': {
    status: 500,
    title: 'Data directory in use',
    remedy: 'Stop the other process, or give this one another --data-dir.',
  },
  'EE-702': {
    status: 503,
    title: 'Database unreachable',
    remedy: 'Check DATABASE_URL, the network and that PostgreSQL is running.',
  },
  'EE-703': {
    status: 500,
    title: 'Database too old',
    remedy: 'Pulsefeed needs PostgreSQL 14 or newer.',
  },
  'EE-704': {
    status: 500,
    title: 'Migrations missing',
    remedy: 'Run `pulsefeed migrate` with a role that may create tables.',
  },
  'EE-705': {
    status: 500,
    title: 'Table or column missing',
    remedy: 'Correct the resource in pulsefeed.config.json, or restore the table or column named.',
  },
  'EE-706': {
    status: 500,
    title: 'Input refused',
    remedy: 'Correct the input at the place named, or pass --skip-bad to leave such rows out.',
  },
  'EE-707': {
    status: 500,
    title: 'Missing privilege',
    remedy: 'Grant what the message names; docs/operations.md lists the grants.',
  },
  'EE-900': {
    status: 500,
    title: 'Internal error',
    remedy: 'Look for the request id in the server log and report it.',
  },
} as const satisfies Record<string, { status: number; title: string; remedy: string }>;

/** A code of the registry. */
export type ErrorCode = keyof typeof errorRegistry;

/** One fault among several in a single answer, as OData's `error.details`. */
export interface ErrorDetail {
  readonly code: ErrorCode;
  readonly message: string;
  readonly target?: string;
}

/** An error with a registered code. `message` is written for the client: it holds no SQL, host or stack. */
export class PulsefeedError extends Error {
  readonly code: ErrorCode;
  readonly target: string | undefined;
  readonly details: readonly ErrorDetail[];
  /** Response headers that belong to the answer, such as `Allow` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    extra: {
      target?: string;
      details?: readonly ErrorDetail[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'PulsefeedError';
    this.code = code;
    this.target = extra.target;
    this.details = extra.details ?? [];
    this.headers = extra.headers ?? {};
  }

  /** The HTTP status that the registry gives this code. */
  get status(): number {
    return errorRegistry[this.code].status;
  }
}

/** SQLSTATEs that mean "the server is not there or is going away"; such work may be tried again as it is. */
const connectionStates = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
]);
const connectionErrnos = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** The SQLSTATE or errno of an error from the database driver, or undefined. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** True when the error says that the connection, not the statement, failed. */
export function isConnectionFailure(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined && (connectionStates.has(state) || connectionErrnos.has(state))) return true;
  // pg reports a socket that ended under a running statement without a code.
  return (
    error instanceof Error &&
    /Connection terminated|connection is closed|not queryable|Query read timeout/i.test(error.message)
  );
}

/** Maps an error from the database to a registered one; the table of SQLSTATEs lives here only. */
export function fromDatabase(error: unknown): PulsefeedError {
  if (error instanceof PulsefeedError) return error;
  const state = sqlState(error);
  if (isConnectionFailure(error)) {
    return new PulsefeedError('EE-702', 'The database cannot be reached at the moment.', { cause: error });
  }
  if (state === '42P01' || state === '42703') {
    return new PulsefeedError('EE-705', 'A table or column that this service needs is missing.', {
      cause: error,
    });
  }
  if (state === '42501') {
    return new PulsefeedError('EE-707', 'The database refused access to a table or function.', {
      cause: error,
    });
  }
  return new PulsefeedError('EE-900', 'The server met an internal error.', { cause: error });
}
