import { type ErrorDetail, PulsefeedError } from '../base/errors.ts';
import { parseExactObject, sequenceOf } from './exact-json.ts';
import { readEventFilter } from './subscription-type.ts';
import type { TargetGuard } from './target-guard.ts';

/** What a consumer sets, as columns of push_subscription; absent members stay as they are. */
export interface SubscriptionFields {
  readonly filter?: string | null;
  readonly callback_url?: string;
  readonly credential_id?: string | null;
  readonly source?: string | null;
  readonly max_events?: number;
  readonly max_bytes?: number;
  readonly max_wait_ms?: number;
  readonly requests_per_minute?: number;
  readonly expand_record?: boolean;
  readonly signature?: string;
  readonly on_rejected?: string;
  readonly reject_tries?: number;
  readonly retry_schedule?: readonly number[];
  readonly retry_for_s?: number;
}

const hour = 3_600;

/**
 * What holds unless a subscription says otherwise. The schedule ends in tries every 8 hours; trying goes on until it has
 * failed for 72 hours in all.
 */
export const standardFields: Required<Omit<SubscriptionFields, 'callback_url'>> = {
  filter: null,
  credential_id: null,
  source: null,
  max_events: 500,
  max_bytes: 1_048_576,
  max_wait_ms: 0,
  requests_per_minute: 0,
  expand_record: false,
  signature: 'hmac',
  on_rejected: 'dead-letter',
  reject_tries: 3,
  retry_schedule: [5, 30, 120, 600, 1_800, hour, 2 * hour, 4 * hour, 8 * hour],
  retry_for_s: 72 * hour,
};

/** A member of the body and the column it sets; `read` answers undefined for a value that does not do. */
interface Member {
  readonly column: keyof SubscriptionFields;
  readonly wants: string;
  readonly read: (value: unknown) => unknown;
}

const integer = (column: keyof SubscriptionFields, min: number, max: number): Member => ({
  column,
  wants: `a whole number from ${min} to ${max}`,
  read: value =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined,
});
const oneOf = (column: keyof SubscriptionFields, ...values: string[]): Member => ({
  column,
  wants: values.join(' or '),
  read: value => (typeof value === 'string' && values.includes(value) ? value : undefined),
});
const text = (column: keyof SubscriptionFields, longest: number, pattern: RegExp): Member => ({
  column,
  wants: `a text of at most ${longest} characters`,
  read: value =>
    value === null || (typeof value === 'string' && value.length <= longest && pattern.test(value))
      ? value
      : undefined,
});

const members: Readonly<Record<string, Member>> = {
  EntityEventFilter: text('filter', 8_000, /\S/),
  CallbackUrl: {
    column: 'callback_url',
    wants: 'an absolute URL of at most 2000 characters',
    read: value =>
      typeof value === 'string' && value.length <= 2_000 && URL.canParse(value) ? value : undefined,
  },
  CallbackCredentialId: text('credential_id', 255, /\S/),
  // It becomes a header: visible characters and inner blanks.
  EntityEventSource: text('source', 255, /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/),
  MaxEvents: integer('max_events', 1, 10_000),
  MaxBytes: integer('max_bytes', 1_024, 16_777_216),
  MaxWaitMs: integer('max_wait_ms', 0, 60_000),
  RequestsPerMinute: integer('requests_per_minute', 0, 60_000),
  ExpandRecord: {
    column: 'expand_record',
    wants: 'true or false',
    read: value => (typeof value === 'boolean' ? value : undefined),
  },
  Signature: oneOf('signature', 'hmac', 'ed25519', 'both'),
  OnRejected: oneOf('on_rejected', 'dead-letter', 'pause'),
  RejectTries: integer('reject_tries', 1, 100),
  RetrySchedule: {
    column: 'retry_schedule',
    wants: 'a list of 1 to 50 whole numbers of seconds, each from 1 to 86400',
    read: value =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= 50 &&
      value.every(seconds => Number.isInteger(seconds) && seconds >= 1 && seconds <= 24 * hour)
        ? value
        : undefined,
  },
  RetryForSeconds: integer('retry_for_s', 60, 30 * 24 * hour),
};

/** What a body asks for; `sequence` only where it was given. */
export interface SubscriptionBody {
  readonly fields: SubscriptionFields;
  readonly sequence: bigint | undefined;
}

/**
 * Reads the body of a POST, PUT or PATCH. Annotations and members that the service computes are read over, so that an
 * entity that was read can be sent back. @throws EE-114 with one detail for each member that is wrong, EE-101 for the
 * filter, EE-502 for the URL.
 */
export function readSubscription(
  body: string,
  kind: 'create' | 'replace' | 'change',
  guard: TargetGuard,
  computed: ReadonlySet<string>,
): SubscriptionBody {
  const given = parseExactObject(body);
  const details: ErrorDetail[] = [];
  const fault = (target: string, message: string) => details.push({ code: 'EE-114', target, message });
  const fields: Record<string, unknown> = {};
  let sequence: bigint | undefined;
  for (const [name, value] of Object.entries(given)) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (name === 'EntityEventSequence' && kind === 'create') {
      sequence = value === null ? undefined : sequenceOf(value);
      if (value !== null && sequence === undefined) fault(name, `${name} takes Edm.Int64 from 0.`);
    } else if (member !== undefined) {
      fields[member.column] = member.read(value);
      if (fields[member.column] === undefined) fault(name, `${name} takes ${member.wants}.`);
    } else if (name === 'EntityEventSequence' && kind === 'change') {
      fault(name, 'EntityEventSequence is changed by the action Seek.');
    } else if (!name.includes('@') && !computed.has(name) && name !== 'EntityEventSequence') {
      fault(name, `EntityEventSubscription has no property ${name}.`);
    }
  }
  if (kind !== 'change' && given.CallbackUrl === undefined) fault('CallbackUrl', 'CallbackUrl is required.');
  if (details.length > 0) {
    throw new PulsefeedError('EE-114', details.map(({ message }) => message).join(' '), { details });
  }
  const read = fields as SubscriptionFields;
  if (read.filter != null) readEventFilter(read.filter);
  if (read.callback_url !== undefined) guard.checkUrl(new URL(read.callback_url));
  return { fields: kind === 'change' ? read : { ...standardFields, ...read }, sequence };
}
