import { isJsonObject, type JsonObject, type JsonValue, parseExact } from './exact-json.ts';
import { BadAnswer, type HttpAnswer } from './http-send.ts';

/** One row of EntityEvent: "fetch this record again" (RCP-027). */
export interface Pulse {
  readonly sequence: bigint;
  readonly resource: string;
  readonly key: string;
}

/** One page of EntityEvent as it came. */
export interface Page {
  readonly pulses: readonly Pulse[];
  readonly nextLink: string | undefined;
  /** True when every pulse has a larger number than the one before, or is the same once more. */
  readonly ascending: boolean;
  /** True when a number came as a JSON string (IEEE754Compatible). */
  readonly quoted: boolean;
  /** `@pulsefeed.head`: the last number handed out by the source. */
  readonly head: bigint | undefined;
  /** `@pulsefeed.scannedTo`: up to where the source looked for pulses. */
  readonly scannedTo: bigint | undefined;
  /** `@pulsefeed.epoch`: changes when the source was restored or failed over. */
  readonly epoch: string | undefined;
  /** True when the source held the request as asked by `Prefer: wait` (RFC 7240 4.3). */
  readonly waits: boolean;
  /** True when the source said that it obeys `maxpagesize`. */
  readonly sizeApplied: boolean;
}

/**
 * Reads the JSON of a 200 answer. A page of HTML, a cut text, an OData error in a 200 are not JSON objects with what was asked for.
 * @throws BadAnswer when the body is not one JSON object or holds an `error`.
 */
export function readJsonObject(answer: HttpAnswer): JsonObject {
  let value: JsonValue;
  try {
    value = parseExact(answer.text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const start = answer.text.slice(0, 40).replace(/\s+/g, ' ');
    throw new BadAnswer(`The source answers ${answer.status} with something that is not JSON ("${start}")`);
  }
  if (!isJsonObject(value)) throw new BadAnswer('The source answers JSON that is not an object');
  if (isJsonObject(value.error)) {
    throw new BadAnswer(`The source answers ${answer.status} with an error: ${String(value.error.message)}`);
  }
  return value;
}

/** The rows of a collection answer. @throws BadAnswer when `value` is not an array of objects. */
export function readRows(body: JsonObject): JsonObject[] {
  const { value } = body;
  if (!Array.isArray(value) || !value.every(isJsonObject))
    throw new BadAnswer('The answer has no array named "value"');
  return value;
}

/** The nextLink of a collection answer, OData 4.0 or 4.01 spelling. */
export function readNextLink(body: JsonObject): string | undefined {
  const link = body['@odata.nextLink'] ?? body['@nextLink'];
  return typeof link === 'string' && link !== '' ? link : undefined;
}

/** Reads one page of EntityEvent. @throws BadAnswer when it is not one; such an answer is never taken for an empty page. */
export function readPage(answer: HttpAnswer): Page {
  const body = readJsonObject(answer);
  const pulses: Pulse[] = [];
  let ascending = true;
  let quoted = false;
  for (const row of readRows(body)) {
    const sequence = readInteger(row.EntityEventSequence);
    const { ResourceName: resource, ResourceRecordKey: key } = row;
    const hasKey = typeof key === 'string' || typeof key === 'number' || typeof key === 'bigint';
    if (sequence === undefined || typeof resource !== 'string' || !hasKey) {
      throw new BadAnswer(
        'A row of EntityEvent lacks EntityEventSequence, ResourceName or ResourceRecordKey',
      );
    }
    const before = pulses.at(-1);
    const again = before?.sequence === sequence && before.resource === resource && before.key === String(key);
    if (before && sequence <= before.sequence && !again) ascending = false;
    if (typeof row.EntityEventSequence === 'string') quoted = true;
    pulses.push({ sequence, resource, key: String(key) });
  }
  const applied = answer.headers['preference-applied'] ?? '';
  const epoch = body['@pulsefeed.epoch'];
  return {
    pulses,
    nextLink: readNextLink(body),
    ascending,
    quoted,
    head: readInteger(body['@pulsefeed.head']),
    scannedTo: readInteger(body['@pulsefeed.scannedTo']),
    epoch: epoch === undefined || epoch === null ? undefined : String(epoch),
    waits: /(?:^|[,;\s])wait\b/.test(applied),
    sizeApplied: /maxpagesize/.test(applied),
  };
}

/** An Int64 from a JSON number or a quoted one; `undefined` when it is neither. */
export function readInteger(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^-?\d{1,19}$/.test(value)) return BigInt(value);
  return undefined;
}
