import type { Report, RuleResult } from '../report.ts';
import type { Outcome } from '../rule.ts';
import type { Progress } from '../run-rules.ts';

/** Where text goes, and whether it is a terminal that understands colours and carriage returns. */
export type Screen = { write(text: string): void; isTty: boolean };

const colours: Record<Outcome, string> = { pass: '32', fail: '31', warn: '33', skip: '90' };
const words: Record<Outcome, string> = { pass: 'pass', fail: 'FAIL', warn: 'warn', skip: 'skip' };

/** Shows one line that is written anew for each rule. Writes nothing where the screen is no terminal. */
export function progressLine(screen: Screen): (progress: Progress) => void {
  return progress => {
    if (!screen.isTty) return;
    const width = 24;
    const filled = Math.round((progress.done / progress.total) * width);
    const bar = '#'.repeat(filled) + '-'.repeat(width - filled);
    const end = progress.done === progress.total ? '\r\u001b[K' : '';
    screen.write(`\r\u001b[K[${bar}] ${progress.done}/${progress.total} ${progress.rule}${end}`);
  };
}

/** The report for a person at a terminal: what is wrong in full, what was skipped in one line each. */
export function terminalReport(report: Report, isTty: boolean): string {
  const paint = (outcome: Outcome, text: string) =>
    isTty ? `\u001b[${colours[outcome]}m${text}\u001b[0m` : text;
  const lines = [`${report.url}  (${report.mode}, Web API Core ${report.core})`, ''];
  for (const outcome of ['fail', 'warn'] as const) {
    for (const rule of report.rules.filter(each => each.outcome === outcome))
      lines.push(...inFull(rule, paint), '');
  }
  const skipped = report.rules.filter(rule => rule.outcome === 'skip');
  for (const rule of skipped) lines.push(`${paint('skip', words.skip)}  ${rule.id}: ${rule.reason}`);
  if (skipped.length > 0) lines.push('');
  if (report.walk !== undefined) {
    const { events, steps, first, last, note } = report.walk;
    const range = first === undefined ? '' : `, ${first} to ${last}`;
    lines.push(
      `walked ${events} events in ${steps.length} requests${range}${note === undefined ? '' : `; ${note}`}`,
    );
  }
  const { pass, fail, warn, skip } = report.counts;
  const seconds = (report.durationMs / 1000).toFixed(1);
  lines.push(
    `${pass} kept, ${fail} broken, ${warn} warnings, ${skip} not exercised; ${report.requests} requests in ${seconds} s`,
  );
  if (report.problem !== undefined) lines.push(`problem: ${report.problem}`);
  lines.push(verdictLine(report, paint));
  return `${lines.join('\n')}\n`;
}

function inFull(rule: RuleResult, paint: (outcome: Outcome, text: string) => string): string[] {
  const lines = [
    `${paint(rule.outcome, words[rule.outcome])}  ${rule.id}  (${rule.level})`,
    `      ${rule.reason}`,
  ];
  if (rule.remedy !== undefined) lines.push(`      to do: ${rule.remedy}`);
  for (const evidence of rule.evidence.slice(0, 1)) {
    const body = evidence.responseBody.replaceAll(/\s+/g, ' ').slice(0, 160);
    lines.push(`      ${evidence.curl}`, `      HTTP ${evidence.status} ${body}`);
  }
  return lines;
}

function verdictLine(report: Report, paint: (outcome: Outcome, text: string) => string): string {
  switch (report.conformant) {
    case 'yes':
      return paint('pass', 'conformant');
    case 'no':
      return paint('fail', 'not conformant');
    case 'unknown':
      return paint('warn', 'could not be judged');
    default: {
      const never: never = report.conformant;
      return never;
    }
  }
}
