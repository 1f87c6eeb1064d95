import type { Chance } from './chance.ts';

/** The moment at which the sample was "taken": everything in it happened before, whenever the sample is made. */
export const baseTime = new Date('2025-06-02T16:00:00.000Z');

const dayMs = 86_400_000;

/** A timestamp within the day that was `days` before `time`, never after `time`. */
export function ago(time: Date, days: number, chance: Chance): string {
  return new Date(time.getTime() - days * dayMs - chance.below(dayMs / 4)).toISOString();
}

/** The date `days` after a timestamp or before it, as YYYY-MM-DD. */
export function dateAfter(time: Date | string, days: number): string {
  return new Date(new Date(time).getTime() + days * dayMs).toISOString().slice(0, 10);
}

/** The first Saturday or Sunday after the date of `time`, with its start and end in local afternoon hours. */
export function nextWeekend(time: Date, chance: Chance): { date: string; start: string; end: string } {
  const wanted = chance.happens(0.6) ? 6 : 0;
  const days = (wanted - time.getUTCDay() + 7) % 7 || 7;
  const date = dateAfter(time, days);
  // 20:00 UTC is one o'clock in the afternoon there, in summer.
  const hour = chance.between(18, 21);
  const stamp = (at: number) => `${date}T${String(at).padStart(2, '0')}:00:00.000Z`;
  return { date, start: stamp(hour), end: stamp(hour + 2) };
}
