import { maxKeyLength } from '../server/log/index.ts';
import type { DateReader } from './date-pattern.ts';
import type { FaultList } from './input-fault.ts';
import type { InputRecord } from './input-record.ts';

/** A record of a file, ready to be lined up. */
export interface InputRow {
  readonly key: string;
  /** ISO 8601 in UTC. */
  readonly modified: string | null;
  readonly record: InputRecord;
}

/** How the key and the time of the last change are read. Fields are named by their index in a record's values. */
export interface RowShape {
  readonly keyFields: readonly { readonly name: string; readonly field: number }[];
  /** Stands between the parts of a key that comes from several fields. */
  readonly separator: string;
  readonly modified?: { readonly name: string; readonly field: number; readonly read: DateReader };
}

/** Reads key and date of a record, or reports why it cannot be used. */
export function toRow(record: InputRecord, shape: RowShape, faults: FaultList): InputRow | undefined {
  const fault = (field: number, message: string) => {
    faults.add(record.place(field), message, record.text);
    return undefined;
  };
  for (const [field, value] of record.values.entries()) {
    const unusable = typeof value === 'string' ? unusableText(value) : undefined;
    if (unusable !== undefined) return fault(field, unusable);
  }
  const parts: string[] = [];
  for (const { name, field } of shape.keyFields) {
    const part = record.values[field];
    if (part === undefined || part === null || part.trim() === '') {
      return fault(field, `${JSON.stringify(name)}: the key is missing`);
    }
    if (shape.keyFields.length > 1 && part.includes(shape.separator)) {
      const separator = JSON.stringify(shape.separator);
      return fault(
        field,
        `${JSON.stringify(name)}: holds the separator ${separator}, so two keys could be the same`,
      );
    }
    parts.push(part);
  }
  const first = shape.keyFields[0];
  const key = parts.join(shape.separator);
  if (key.length > maxKeyLength && [...key].length > maxKeyLength) {
    const name = JSON.stringify(first?.name);
    return fault(
      first?.field ?? 0,
      `${name}: the key is ${[...key].length} characters long, at most ${maxKeyLength} fit`,
    );
  }
  let modified: string | null = null;
  if (shape.modified !== undefined) {
    const { name, field, read } = shape.modified;
    const value = record.values[field];
    if (value !== undefined && value !== null && value !== '') {
      const date = read(value);
      if (date === undefined) {
        return fault(
          field,
          `${JSON.stringify(name)}: ${JSON.stringify(clip(value))} is not a date of this form`,
        );
      }
      modified = date;
    }
  }
  return { key, modified, record };
}

/** Text that no database column can hold. */
function unusableText(value: string): string | undefined {
  if (value.includes('\0')) return 'the value holds a NUL character';
  if (/\p{Surrogate}/u.test(value)) return 'the value holds half of a character';
  return undefined;
}

function clip(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 60)}...`;
}
