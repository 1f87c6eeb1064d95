import type { Report } from '../report.ts';
import type { Mode } from '../rule.ts';
import { runConformance } from '../runner.ts';
import type { ConformanceOptions } from '../settings.ts';
import { type BreakableOptions, startBreakableServer } from './breakable-server.ts';

/** Waiting times that suit a server on the same machine. */
export const quick: Omit<ConformanceOptions, 'url'> = {
  paceMs: 0,
  timeoutMs: 5000,
  // The first and the last record, which is the one that is gone, are among any sample.
  sampleRecords: 8,
  canary: { resource: 'Property', waitMs: 400, pollMs: 5 },
  stress: { writers: 4, readers: 3, writesPerWriter: 12 },
  push: { waitMs: 1000, retryAfterSeconds: 1, quietMs: 250 },
};

/** Starts a breakable server, runs the suite against it and stops it. */
export async function runAgainst(
  server: BreakableOptions,
  mode: Mode,
  options: Partial<ConformanceOptions> = {},
): Promise<Report> {
  const running = await startBreakableServer(server);
  const token = server.auth === false || options.clientId !== undefined ? {} : { token: running.token };
  try {
    return await runConformance({ ...quick, ...token, url: running.url, mode, ...options });
  } finally {
    await running.close();
  }
}

/** The ids of the rules that did not hold, sorted. */
export function red(report: Report): string[] {
  return report.rules
    .filter(rule => rule.outcome === 'fail' || rule.outcome === 'warn')
    .map(rule => rule.id)
    .sort();
}
