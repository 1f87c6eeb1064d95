import type { FaultList } from './input-fault.ts';
import { type FieldValue, fieldNames, type InputRecord, type WantedFields } from './input-record.ts';
import { jsonFaultOffset } from './json-scan.ts';
import { type TextLine, withoutReturn } from './text-lines.ts';

/**
 * Reads a file of JSON objects, one a line, in batches. A line that is no JSON object, or holds a number that
 * JavaScript cannot hold exactly, becomes a fault. Empty lines are passed over; an empty text is a value, as null is.
 */
export async function* readJsonLines(
  lines: AsyncIterable<readonly TextLine[]>,
  wanted: WantedFields,
  faults: FaultList,
): AsyncGenerator<InputRecord[]> {
  const names = fieldNames(wanted);
  for await (const batch of lines) {
    const records: InputRecord[] = [];
    for (const line of batch) {
      if (line.fault !== undefined) {
        faults.add({ line: line.number, column: line.fault.column }, line.fault.message, line.text);
      } else if (line.text.trim() !== '') {
        const record = readLine(line, names, faults);
        if (record !== undefined) records.push(record);
      }
    }
    yield records;
  }
}

function readLine(line: TextLine, names: readonly string[], faults: FaultList): InputRecord | undefined {
  const { number } = line;
  const text = withoutReturn(line.text);
  const fault = (column: number, message: string) => {
    faults.add({ line: number, column }, message, text);
    return undefined;
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    const offset = jsonFaultOffset(text);
    return fault(offset + 1, offset === text.length ? 'the JSON ends too early' : 'this is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return fault(1, 'this is not a JSON object');
  }
  const members = parsed as Readonly<Record<string, unknown>>;
  const values: FieldValue[] = [];
  for (const name of names) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof value === 'number' && !isExact(value, text)) {
      const message = `${JSON.stringify(name)}: the number may have lost digits; write it as a text`;
      return fault(memberColumn(text, name), message);
    }
    values.push(toText(value));
  }
  return {
    line: number,
    text,
    values,
    place: field => ({ line: number, column: memberColumn(text, names[field] ?? '') }),
  };
}

/** A number above 2^53 or with more digits than a double has reads back as another number than was written. */
function isExact(value: number, text: string): boolean {
  return Number.isSafeInteger(value) || (!Number.isInteger(value) && text.includes(String(value)));
}

function toText(value: unknown): FieldValue {
  if (value === undefined || value === null) return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Where a member stands: by its name, so a nested member of the same name that comes first would be shown instead. */
function memberColumn(text: string, name: string): number {
  return Math.max(0, text.indexOf(JSON.stringify(name))) + 1;
}
