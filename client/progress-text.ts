import type { Progress } from './progress.ts';

/** Progress as one line for people. */
export function progressLine(progress: Progress): string {
  const { events, upserts, deletes, last, head, lag, eventsPerSecond, secondsLeft } = progress;
  const parts = [
    `${events} events`,
    `${upserts} records written`,
    `${deletes} deleted`,
    `at ${last ?? 'the beginning'}`,
  ];
  if (head !== undefined) parts.push(`head ${head}`);
  if (lag !== undefined) parts.push(`lag ${lag}`);
  parts.push(`${Math.round(eventsPerSecond)} events/s`);
  if (secondsLeft !== undefined && secondsLeft > 0) parts.push(`${duration(secondsLeft)} left`);
  return parts.join(', ');
}

/** Progress as plain JSON values; numbers of the log are strings, since they may be past 2^53. */
export function progressJson(progress: Progress): Record<string, string | number | boolean | null> {
  const { events, upserts, deletes, last, head, lag, eventsPerSecond, secondsLeft, atHead } = progress;
  return {
    events,
    upserts,
    deletes,
    last: last === undefined ? null : last.toString(),
    head: head === undefined ? null : head.toString(),
    lag: lag === undefined ? null : lag.toString(),
    eventsPerSecond: Math.round(eventsPerSecond),
    secondsLeft: secondsLeft === undefined ? null : Math.round(secondsLeft),
    atHead,
  };
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
