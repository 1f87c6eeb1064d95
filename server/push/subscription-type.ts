import { PulsefeedError } from '../base/errors.ts';
import {
  bindFilter,
  defineEntityType,
  type EntityType,
  ExpressionError,
  type PrimitiveName,
  type Property,
  parseExpression,
  primitive,
  type TypedValue,
} from '../edm/index.ts';
import { eventColumns } from '../log/index.ts';
import { breakerThreshold } from './decide.ts';

const namespace = 'org.reso.metadata';
const computed = { 'Core.Computed': true } as const;

function property(
  name: string,
  type: PrimitiveName,
  column: Property['column'],
  more: Partial<Property> = {},
): Property {
  return { name, type: primitive(type), nullable: false, column, ...more };
}

/** When the breaker of a subscription stands how, over an alias of push_subscription. */
export const breakerSql = (alias: string): string => `
(case when ${alias}.failures < ${breakerThreshold} then 'closed' when ${alias}.lease_until > clock_timestamp() then 'half-open' else 'open' end)`;

/**
 * RESO's open proposal for subscriptions (RCP-49) with what RCP-028 leaves to the producer. `SigningSecret` is shown by the
 * answer that makes it and never again.
 */
export const subscriptionType: EntityType = defineEntityType({
  namespace,
  name: 'EntityEventSubscription',
  key: ['EntityEventSubscriptionKey'],
  properties: [
    property('EntityEventSubscriptionKey', 'Edm.String', 'id', { maxLength: 255, annotations: computed }),
    property('EntityEventFilter', 'Edm.String', 'filter', { nullable: true, maxLength: 8_000 }),
    property('EntityEventSequence', 'Edm.Int64', 'cursor_seq'),
    property('CallbackUrl', 'Edm.String', 'callback_url', { maxLength: 2_000 }),
    property('CallbackCredentialId', 'Edm.String', 'credential_id', { nullable: true, maxLength: 255 }),
    property('EntityEventSource', 'Edm.String', 'source', { nullable: true, maxLength: 255 }),
    property('MaxEvents', 'Edm.Int32', 'max_events'),
    property('MaxBytes', 'Edm.Int32', 'max_bytes'),
    property('MaxWaitMs', 'Edm.Int32', 'max_wait_ms'),
    property('RequestsPerMinute', 'Edm.Int32', 'requests_per_minute'),
    property('ExpandRecord', 'Edm.Boolean', 'expand_record'),
    property('Signature', 'Edm.String', 'signature', { maxLength: 10 }),
    property('OnRejected', 'Edm.String', 'on_rejected', { maxLength: 20 }),
    property('RejectTries', 'Edm.Int32', 'reject_tries'),
    {
      name: 'RetrySchedule',
      type: { kind: 'collection', of: primitive('Edm.Int32') },
      nullable: false,
      column: 'retry_schedule',
    },
    property('RetryForSeconds', 'Edm.Int32', 'retry_for_s'),
    property('Status', 'Edm.String', 'state', { maxLength: 20, annotations: computed }),
    property('StatusReason', 'Edm.String', 'reason', {
      nullable: true,
      maxLength: 1_000,
      annotations: computed,
    }),
    property('StatusTimestamp', 'Edm.DateTimeOffset', 'state_at', { precision: 3, annotations: computed }),
    property('DeliveredTimestamp', 'Edm.DateTimeOffset', 'delivered_at', {
      nullable: true,
      precision: 3,
      annotations: computed,
    }),
    property('Failures', 'Edm.Int32', 'failures', { annotations: computed }),
    property('Breaker', 'Edm.String', breakerSql, { maxLength: 10, annotations: computed }),
    property(
      'DeadLetters',
      'Edm.Int64',
      alias => `
(select count(*) from pulsefeed.push_dead_letter d where d.subscription_id = ${alias}.id and d.state in ('dead', 'queued'))`,
      {
        annotations: computed,
      },
    ),
    property('CreatedTimestamp', 'Edm.DateTimeOffset', 'created_at', { precision: 3, annotations: computed }),
    property('SigningPublicKey', 'Edm.String', () => 'null::text', {
      nullable: true,
      maxLength: 255,
      annotations: computed,
    }),
    property('SigningSecret', 'Edm.String', () => 'null::text', {
      nullable: true,
      maxLength: 255,
      annotations: computed,
    }),
  ],
  navigation: [],
  table: { schema: 'pulsefeed', name: 'push_subscription' },
});

/** Write-only but for what it is and when it came. */
export const credentialType: EntityType = defineEntityType({
  namespace,
  name: 'EntityEventCredential',
  key: ['CallbackCredentialId'],
  properties: [
    property('CallbackCredentialId', 'Edm.String', 'id', { maxLength: 255, annotations: computed }),
    property('Type', 'Edm.String', 'type', { maxLength: 20 }),
    property('CreatedTimestamp', 'Edm.DateTimeOffset', 'created_at', { precision: 3, annotations: computed }),
    ...['Token', 'TokenUrl', 'ClientId', 'ClientSecret', 'Scope', 'Certificate', 'PrivateKey'].map(name =>
      property(name, 'Edm.String', () => 'null::text', {
        nullable: true,
        maxLength: 20_000,
      }),
    ),
  ],
  navigation: [],
  table: { schema: 'pulsefeed', name: 'push_credential' },
});

/** What an EntityEventFilter may name: an event without its number, which is the subscription's own. */
const filteredType = defineEntityType({
  namespace,
  name: 'EntityEvent',
  key: ['ResourceName', 'ResourceRecordKey'],
  properties: [
    property('ResourceName', 'Edm.String', eventColumns.ResourceName, { maxLength: 255 }),
    property('ResourceRecordKey', 'Edm.String', eventColumns.ResourceRecordKey, { maxLength: 255 }),
  ],
  navigation: [],
  table: { schema: 'pulsefeed', name: 'entity_event' },
});

/** Reads an EntityEventFilter. @throws EE-101 with the place of the fault; EntityEventSequence is one. */
export function readEventFilter(text: string): TypedValue {
  try {
    return bindFilter(parseExpression(text), filteredType);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new PulsefeedError('EE-101', error.message, { target: 'EntityEventFilter', cause: error });
  }
}
