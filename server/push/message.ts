import type { SentEvent } from './envelope.ts';
import { eventFields, manyBody, singleBody } from './envelope.ts';
import type { Signer } from './signing.ts';

/** The records of one batch as the consumer may see them now: JSON text by resource and key, null where it may not. */
export type ReadRecords = (
  consumerId: number,
  events: readonly SentEvent[],
) => Promise<(event: SentEvent) => string | null>;

/** One message: its headers and body. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What a message is made of. */
export interface MessageParts {
  readonly id: string;
  readonly body: Buffer;
  readonly authorization: string | undefined;
  readonly source: string | null;
  readonly signer: Signer;
  /** Seconds since 1970. */
  readonly timestampS: number;
}

/** Headers of RCP-028 and of Standard Webhooks. */
export function message({ id, body, authorization, source, signer, timestampS }: MessageParts): Message {
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'Pulsefeed',
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...(source === null ? {} : { EntityEventSource: source }),
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signer(id, timestampS, body),
    },
  };
}

/** The body with the current record inside each event, under `Record`. */
export async function expandedBody(
  consumerId: number,
  events: readonly SentEvent[],
  single: boolean,
  read: ReadRecords,
): Promise<string> {
  const record = await read(consumerId, events);
  const fields = events.map(event => `${eventFields(event)},"Record":${record(event) ?? 'null'}`);
  return single ? singleBody(fields[0] ?? '') : manyBody(fields);
}
