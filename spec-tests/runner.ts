import { Agent } from './http/agent.ts';
import { type Clock, systemClock } from './http/clock.ts';
import { type Credentials, credentialsOf } from './http/credentials.ts';
import { redact } from './http/evidence.ts';
import { makeContext } from './make-context.ts';
import { preflight } from './preflight.ts';
import { type Report, type RuleResult, reportVersion } from './report.ts';
import type { Mode, Outcome, Rule } from './rule.ts';
import { rules as allRules } from './rules/index.ts';
import { type Progress, runRules } from './run-rules.ts';
import { type ConformanceOptions, resolveSettings, type Settings } from './settings.ts';
import { reportWalk } from './walk-report.ts';

/** Things that a caller may put in. */
export type RunnerParts = {
  onProgress?: (progress: Progress) => void;
  clock?: Clock;
  /** The rules to choose from. Default: all. */
  rules?: readonly Rule[];
};

/**
 * Runs the suite against one server and resolves with the report, also when the server is broken or absent.
 * @throws BadOptions when the options cannot be used.
 */
export async function runConformance(options: ConformanceOptions, parts: RunnerParts = {}): Promise<Report> {
  const settings = resolveSettings(options);
  const clock = parts.clock ?? systemClock;
  const startedMs = clock.now();
  const credentials = credentialsOf(settings, clock);
  const http = new Agent({
    baseUrl: settings.url,
    timeoutMs: settings.timeoutMs,
    paceMs: settings.paceMs,
    maxWaitMs: Math.max(60_000, settings.timeoutMs),
    deadlineMs: startedMs + settings.maxSeconds * 1000,
    clock,
    credentials: credentials.headers,
  });
  try {
    const chosen = chooseRules(parts.rules ?? allRules, settings);
    const report = await judge(chosen, settings, { http, clock, credentials, onProgress: parts.onProgress });
    report.startedAt = new Date(startedMs).toISOString();
    report.durationMs = Math.round(clock.now() - startedMs);
    return report;
  } finally {
    http.close();
  }
}

type Means = { http: Agent; clock: Clock; credentials: Credentials; onProgress: RunnerParts['onProgress'] };

async function judge(chosen: readonly Rule[], settings: Settings, means: Means): Promise<Report> {
  const { http, clock, credentials, onProgress } = means;
  const { context, walkIfMade } = makeContext(settings, http, clock, credentials);
  if (chosen.length === 0) return assemble(settings, [], http, 'no rule fits --only and --mode');
  const { problem, hasLog } = await preflight(http);
  if (problem !== undefined) return assemble(settings, [], http, redact(problem, credentials.secrets()));
  const results = await runRules(chosen, { context, credentials, hasLog }, onProgress);
  const report = assemble(
    settings,
    results,
    http,
    http.givenUp ?? nothingOfMode(chosen, results, settings.mode),
  );
  const walk = walkIfMade();
  return walk === undefined ? report : { ...report, walk: reportWalk(walk) };
}

function chooseRules(rules: readonly Rule[], settings: Settings): Rule[] {
  const wanted = (id: string) =>
    settings.only.length === 0 ||
    settings.only.some(only => id === only || id.startsWith(`${only.replace(/\/$/, '')}/`));
  const chosen = rules.filter(rule => rule.modes.includes(settings.mode) && wanted(rule.id));
  // What only reads goes first, so that it does not meet the canaries of what writes.
  const reads = (rule: Rule) => (rule.modes.includes('observe') ? 0 : 1);
  return chosen.sort((a, b) => reads(a) - reads(b));
}

/**
 * Why a run that was asked to write or to be pushed to did neither: else a feed that refuses writes would pass the
 * mode that judges them.
 */
function nothingOfMode(
  chosen: readonly Rule[],
  results: readonly RuleResult[],
  mode: Mode,
): string | undefined {
  const own = chosen.filter(
    rule => !rule.modes.includes('observe') && rule.id !== 'rcp-028/hosts-entity-event',
  );
  const outcomes = results.filter(result => own.some(rule => rule.id === result.id));
  if (outcomes.length === 0 || outcomes.some(result => result.outcome !== 'skip')) return undefined;
  return `nothing of mode ${mode} could be exercised: ${outcomes[0]?.reason}`;
}

function assemble(
  settings: Settings,
  results: RuleResult[],
  http: Agent,
  problem: string | undefined,
): Report {
  const counts: Record<Outcome, number> = { pass: 0, fail: 0, warn: 0, skip: 0 };
  for (const result of results) counts[result.outcome] += 1;
  const broken = counts.fail > 0 || (settings.strict && counts.warn > 0);
  const report: Report = {
    version: reportVersion,
    suite: 'pulsefeed conformance',
    url: settings.url,
    mode: settings.mode,
    core: settings.core,
    startedAt: '',
    durationMs: 0,
    requests: http.sent,
    throttled: http.throttled,
    conformant: broken ? 'no' : problem !== undefined || counts.pass === 0 ? 'unknown' : 'yes',
    counts,
    rules: results,
  };
  if (problem !== undefined) return { ...report, problem };
  if (report.conformant === 'unknown') return { ...report, problem: 'no rule could be exercised' };
  return report;
}
