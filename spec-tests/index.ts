/**
 * The conformance suite as a library: `import { runConformance } from 'pulsefeed/conformance'`.
 * It knows servers only over HTTP.
 */
export type { Evidence } from './http/evidence.ts';
export { htmlReport } from './report/html.ts';
export { jsonReport } from './report/json.ts';
export { junitReport } from './report/junit.ts';
export { exitCodeOf, type Report, type RuleResult, type WalkReport, type WalkStep } from './report.ts';
export type { Level, Mode, Outcome } from './rule.ts';
export type { Progress } from './run-rules.ts';
export { runConformance } from './runner.ts';
export {
  BadOptions,
  type CanarySettings,
  type ConformanceOptions,
  type PushSettings,
  type StressSettings,
} from './settings.ts';
