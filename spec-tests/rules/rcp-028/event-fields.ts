import { everyDelivery } from '../../checks/deliveries.ts';
import type { JsonObject } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Proposal: the tuple as published to EntityEvent. */
export const rule: Rule = {
  id: 'rcp-028/event-fields',
  covers: ['RCP-028.4', 'RCP-028.5'],
  clause: 'Pushed events have the three fields, typed as in EntityEvent.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions to a receiver of this run.',
  expects: 'A JSON integer, a string and a string.',
  check: context =>
    everyDelivery(
      context,
      each => each.rows.map(faultOf).find(text => text !== undefined),
      'all events have their three fields',
      'Send EntityEventSequence as an integer, ResourceName and ResourceRecordKey as strings.',
    ),
};

function faultOf(row: JsonObject): string | undefined {
  if (typeof row.EntityEventSequence !== 'bigint') return 'EntityEventSequence is absent or no integer';
  if (typeof row.ResourceName !== 'string') return 'ResourceName is absent or no string';
  return typeof row.ResourceRecordKey === 'string' ? undefined : 'ResourceRecordKey is absent or no string';
}
