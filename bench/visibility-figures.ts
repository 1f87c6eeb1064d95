import type { Db } from '../server/base/db/index.ts';

/** Makes a database of this name, lets `fill` build it, and connects. */
export type OpenBench = (name: string, fill: (url: string) => Promise<void>) => Promise<Db>;

/** One line of the report. */
export function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(44)} ${value}\n`);
}

/** The value at a share of the sorted times; 0 of none. */
export function quantile(times: readonly number[], at: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0;
}

/** Median, 99th percentile and most of times in milliseconds, for the report. */
export function spread(times: readonly number[]): string {
  const [p50, p99, most] = [0.5, 0.99, 1].map(at => quantile(times, at).toFixed(1));
  return `p50 ${p50}, p99 ${p99}, most ${most} ms of ${times.length}`;
}

/** Runs `work` and prints how long it took. */
export async function took<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  print(name, `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return result;
}
