/** Picoseconds of a second: the resolution of the 12 fraction digits that OData allows. */
export const PICOSECONDS = 1_000_000_000_000n;
/** Picoseconds of the microsecond, the resolution of Postgres. */
export const PICOSECONDS_PER_MICROSECOND = 1_000_000n;
const DAY_SECONDS = 86_400;

/** The days of a month of the proleptic Gregorian calendar; month counts from 1. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days since 1970-01-01 of a day of the proleptic Gregorian calendar. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The inverse of daysFromCivil. */
export function civilFromDays(days: number): {
  readonly year: number;
  readonly month: number;
  readonly day: number;
} {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** First and last day and instant that are served, years 0001 to 9999: what every client's date type can hold. */
export const FIRST_DAY = daysFromCivil(1, 1, 1);
/** See FIRST_DAY. */
export const LAST_DAY = daysFromCivil(9999, 12, 31);

/** Picoseconds of a clock text `hh:mm[:ss[.f{1,12}]]`. */
export function picosecondsOfClock(clock: string): bigint {
  const [hour = '0', minute = '0', second = '0'] = clock.split(':');
  const [whole = '0', fraction = ''] = second.split('.');
  const seconds = BigInt(Number(hour) * 3600 + Number(minute) * 60 + Number(whole));
  return seconds * PICOSECONDS + BigInt(fraction.padEnd(12, '0'));
}

/** Days since 1970-01-01 of a text `[-]y{4,}-mm-dd`. */
export function daysOfDate(date: string): number {
  const found = /^(-?\d+)-(\d\d)-(\d\d)$/.exec(date);
  if (found === null) throw new RangeError(`not a date: ${date}`);
  return daysFromCivil(Number(found[1]), Number(found[2]), Number(found[3]));
}

/** The instant that a DateTimeOffset text states, and its offset. */
export function instantOfText(text: string): {
  readonly picoseconds: bigint;
  readonly offsetMinutes: number;
} {
  const found = /^(-?\d+-\d\d-\d\d)[Tt]([\d:.]+)(?:[Zz]|([+-])(\d\d):(\d\d))$/.exec(text);
  if (found === null) throw new RangeError(`not a DateTimeOffset: ${text}`);
  const [, date = '', clock = '', sign, hours = '0', minutes = '0'] = found;
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const seconds = BigInt(daysOfDate(date)) * BigInt(DAY_SECONDS) - BigInt(offsetMinutes * 60);
  return {
    picoseconds: seconds * PICOSECONDS + picosecondsOfClock(clock),
    offsetMinutes: offsetMinutes === 0 ? 0 : offsetMinutes,
  };
}

/** Picoseconds of a duration text `[-]P1DT2H3M4.5S`. */
export function picosecondsOfDuration(text: string): bigint {
  const found = /^([+-]?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?$/i.exec(text);
  if (found === null) throw new RangeError(`not a duration: ${text}`);
  const [, sign, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = found;
  const whole = BigInt(days) * 86_400n + BigInt(hours) * 3600n + BigInt(minutes) * 60n + BigInt(seconds);
  const picoseconds = whole * PICOSECONDS + BigInt(fraction.padEnd(12, '0'));
  return sign === '-' ? -picoseconds : picoseconds;
}

function pad(value: number | bigint, width: number): string {
  return value.toString().padStart(width, '0');
}

/** `yyyy-mm-dd` of a day within the years 0001 to 9999. */
export function dateText(days: number): string {
  const { year, month, day } = civilFromDays(days);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** `hh:mm:ss[.f]` of picoseconds since midnight; the fraction without trailing zeros. */
export function clockText(picoseconds: bigint): string {
  const seconds = Number(picoseconds / PICOSECONDS);
  const fraction = pad(picoseconds % PICOSECONDS, 12).replace(/0+$/, '');
  const clock = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return fraction === '' ? clock : `${clock}.${fraction}`;
}

/** Splits an instant into the UTC day and the picoseconds since its midnight. */
export function splitInstant(picoseconds: bigint): { readonly days: number; readonly clock: bigint } {
  const day = BigInt(DAY_SECONDS) * PICOSECONDS;
  const clock = ((picoseconds % day) + day) % day;
  return { days: Number((picoseconds - clock) / day), clock };
}

/** ISO text in UTC of an instant within the years 0001 to 9999. */
export function instantText(picoseconds: bigint): string {
  const { days, clock } = splitInstant(picoseconds);
  return `${dateText(days)}T${clockText(clock)}Z`;
}
