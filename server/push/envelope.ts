/** One pulse as it is sent; `record` is JSON text where the subscription asks for the record. */
export interface SentEvent {
  readonly sequence: bigint;
  readonly resource: string;
  readonly key: string;
}

/** What RESO Common Format says the body is about (RCP-028). */
const context = '"@reso.context":"urn:reso:metadata:2.0:resource:entityevent"';

/** The three fields of an event without braces; the number goes from bigint to digits, exact as Int64. */
export function eventFields({ sequence, resource, key }: SentEvent): string {
  return `"EntityEventSequence":${sequence},"ResourceName":${JSON.stringify(resource)},"ResourceRecordKey":${JSON.stringify(key)}`;
}

/** The multi-valued form, `value[]`, which may be empty. `events` are the fields as `eventFields` writes them. */
export function manyBody(events: readonly string[]): string {
  return events.length === 0 ? `{${context},"value":[]}` : `{${context},"value":[{${events.join('},{')}}]}`;
}

/** The single-valued form: the fields stand at the top. */
export function singleBody(fields: string): string {
  return `{${context},${fields}}`;
}

/** Bytes of a body without its events, and of the separator that each event brings: for the cap on a batch. */
export const envelopeBytes = { frame: manyBody([]).length, event: 3 } as const;
