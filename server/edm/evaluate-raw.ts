import { daysOfDate, instantOfText, picosecondsOfClock, picosecondsOfDuration } from './calendar.ts';
import { decimalOfDouble, parseDecimal } from './decimal.ts';
import type { EnumType, ScalarType } from './model.ts';
import type { ScalarValue } from './typed.ts';

/** A record's raw value (see Row) as an exact one. @throws RangeError for a value that its type cannot have. */
export function rawValue(raw: unknown, type: ScalarType): ScalarValue | null {
  if (raw === null || raw === undefined) return null;
  if (type.kind === 'enum') return rawEnum(raw, type);
  const text = String(raw);
  const { name } = type;
  switch (name) {
    case 'Edm.Boolean':
      return { kind: 'boolean', value: raw === true || text === 'true' };
    case 'Edm.Int16':
    case 'Edm.Int32':
    case 'Edm.Int64':
    case 'Edm.Decimal':
      return { kind: 'number', value: parseDecimal(text) };
    case 'Edm.Double':
    case 'Edm.Single':
      return rawDouble(Number(raw));
    case 'Edm.String':
      return { kind: 'string', value: text };
    case 'Edm.Date':
      return { kind: 'date', days: daysOfDate(text) };
    case 'Edm.TimeOfDay':
      return { kind: 'time', picoseconds: picosecondsOfClock(text) };
    case 'Edm.DateTimeOffset':
      return { kind: 'instant', ...instantOfText(raw instanceof Date ? raw.toISOString() : text) };
    case 'Edm.Duration':
      return { kind: 'duration', picoseconds: picosecondsOfDuration(text) };
    case 'Edm.Guid':
      return { kind: 'guid', value: text.toLowerCase() };
    case 'Edm.Binary':
      return { kind: 'binary', base64: text };
    default: {
      const never: never = name;
      return never;
    }
  }
}

function rawDouble(value: number): ScalarValue {
  if (Number.isFinite(value)) return { kind: 'number', value: decimalOfDouble(value) };
  return { kind: 'special', value: Number.isNaN(value) ? 'NaN' : value > 0 ? 'INF' : '-INF' };
}

function rawEnum(raw: unknown, type: EnumType): ScalarValue {
  const text = String(raw);
  const member = type.members.find(
    candidate => candidate.name === text || candidate.value.toString() === text,
  );
  return { kind: 'enum', value: member?.value ?? BigInt(text), name: member?.name };
}
