import Mocha from 'mocha';
import type { Context } from './context.ts';
import { NoAnswer } from './http/agent.ts';
import { type Credentials, NoToken } from './http/credentials.ts';
import { evidenceOf, redact } from './http/evidence.ts';
import type { RuleResult } from './report.ts';
import { fail, type Outcome, type Rule, skip, Unexercised, type Verdict, Violation } from './rule.ts';

/** What a caller is told while a run goes on. */
export type Progress = { done: number; total: number; rule: string; outcome: Outcome };

/** What running a rule needs. */
export type Run = { context: Context; credentials: Credentials; hasLog: boolean };

/** Every rule becomes a mocha test, in one suite for each area; mocha keeps them apart and one after the other. */
export function runRules(
  rules: readonly Rule[],
  run: Run,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<RuleResult[]> {
  const results: RuleResult[] = [];
  const mocha = new Mocha({
    timeout: 0,
    reporter: SilentReporter,
    // An error that a caller's own code throws meanwhile is the caller's, not the running rule's.
    allowUncaught: true,
  });
  const suites = new Map<string, Mocha.Suite>();
  for (const rule of rules) {
    const area = rule.id.split('/')[0] ?? '';
    const suite = suites.get(area) ?? Mocha.Suite.create(mocha.suite, area);
    suites.set(area, suite);
    suite.addTest(
      new Mocha.Test(rule.id, async function (this: Mocha.Context) {
        const result = await runRule(rule, run);
        results.push(result);
        onProgress?.({ done: results.length, total: rules.length, rule: rule.id, outcome: result.outcome });
        if (result.outcome === 'skip') this.skip();
        if (result.outcome === 'fail') throw new Error(result.reason);
      }),
    );
  }
  return new Promise(resolve =>
    mocha.run(() => {
      // Else each run would leave its listeners for uncaught errors on the process.
      mocha.dispose();
      resolve(results);
    }),
  );
}

/** Reports nothing: the run's own report is made from the verdicts. */
class SilentReporter extends Mocha.reporters.Base {}

async function runRule(rule: Rule, { context, credentials, hasLog }: Run): Promise<RuleResult> {
  const startedMs = performance.now();
  const verdict = lowered(rule, withoutLog(rule, await verdictOf(rule, context), hasLog));
  const secrets = credentials.secrets();
  const { id, clause, covers, level, sends, expects } = rule;
  const result: RuleResult = {
    id,
    clause,
    covers,
    level,
    sends,
    expects,
    outcome: verdict.outcome,
    reason: redact(verdict.reason, secrets),
    evidence: verdict.exchanges.slice(0, 4).map(exchange => evidenceOf(exchange, secrets)),
    durationMs: Math.round(performance.now() - startedMs),
  };
  return verdict.remedy === undefined ? result : { ...result, remedy: verdict.remedy };
}

async function verdictOf(rule: Rule, context: Context): Promise<Verdict> {
  if (rule.id.startsWith('core-2.1.0/') && context.settings.core === '2.0.0') {
    return skip('the server claims Web API Core 2.0.0 only');
  }
  try {
    return await rule.check(context);
  } catch (error) {
    if (error instanceof Violation) return fail(error.message, error.remedy, error.exchanges);
    if (error instanceof Unexercised) return skip(error.message, error.exchanges);
    if (error instanceof NoToken) return skip(error.message);
    if (error instanceof NoAnswer) {
      const where = `${error.request.method} ${error.request.url}`;
      return fail(
        `no answer to ${where}: ${error.message}`,
        'Answer each request in time, if only with an error.',
      );
    }
    return skip(
      `fault of the suite: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }
}

const logRules = ['rcp-027/resource-exists', 'rcp-028/hosts-entity-event'];

/** Where there is no log, that is the fault of one rule; the others on the log were not exercised. */
function withoutLog(rule: Rule, verdict: Verdict, hasLog: boolean): Verdict {
  if (hasLog || verdict.outcome !== 'fail' || logRules.includes(rule.id)) return verdict;
  const asked = verdict.exchanges.some(exchange => /\/EntityEvent([(?/]|$)/.test(exchange.url));
  return asked ? skip('EntityEvent itself does not answer 200', verdict.exchanges) : verdict;
}

/** What is only recommended cannot make a server fail. */
function lowered(rule: Rule, verdict: Verdict): Verdict {
  return verdict.outcome === 'fail' && rule.level !== 'MUST' ? { ...verdict, outcome: 'warn' } : verdict;
}
