import type { Report, RuleResult } from '../report.ts';

/** The report as JUnit XML: one suite for each area, one case for each rule. Warnings pass, with their text. */
export function junitReport(report: Report): string {
  const areas = new Map<string, RuleResult[]>();
  for (const rule of report.rules) {
    const area = rule.id.split('/')[0] ?? '';
    areas.set(area, [...(areas.get(area) ?? []), rule]);
  }
  const problem = report.problem === undefined ? '' : problemSuite(report.problem);
  const suites = [...areas].map(([area, rules]) => suiteOf(area, rules, report.startedAt)).join('');
  const { counts } = report;
  const head = `<testsuites name="conformance ${xml(report.mode)} ${xml(report.url)}" tests="${report.rules.length}" failures="${counts.fail}" skipped="${counts.skip}" time="${seconds(report.durationMs)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${problem}${suites}</testsuites>\n`;
}

function suiteOf(area: string, rules: readonly RuleResult[], startedAt: string): string {
  const failures = rules.filter(rule => rule.outcome === 'fail').length;
  const skipped = rules.filter(rule => rule.outcome === 'skip').length;
  const time = seconds(rules.reduce((sum, rule) => sum + rule.durationMs, 0));
  const head = `<testsuite name="${xml(area)}" tests="${rules.length}" failures="${failures}" skipped="${skipped}" timestamp="${xml(startedAt)}" time="${time}">`;
  return `${head}\n${rules.map(caseOf).join('')}</testsuite>\n`;
}

function caseOf(rule: RuleResult): string {
  const head = `<testcase classname="${xml(rule.id.split('/')[0] ?? '')}" name="${xml(rule.id)}" time="${seconds(rule.durationMs)}">`;
  return `${head}${bodyOf(rule)}</testcase>\n`;
}

function bodyOf(rule: RuleResult): string {
  const details = [rule.clause, `Remedy: ${rule.remedy ?? ''}`, ...rule.evidence.map(each => each.curl)].join(
    '\n',
  );
  switch (rule.outcome) {
    case 'fail':
      return `<failure message="${xml(rule.reason)}" type="${rule.level}">${xml(details)}</failure>`;
    case 'warn':
      return `<system-out>${xml(`warning: ${rule.reason}\n${details}`)}</system-out>`;
    case 'skip':
      return `<skipped message="${xml(rule.reason)}"/>`;
    case 'pass':
      return '';
    default: {
      const never: never = rule.outcome;
      return never;
    }
  }
}

function problemSuite(problem: string): string {
  return `<testsuite name="run" tests="1" errors="1"><testcase classname="run" name="run"><error message="${xml(problem)}"/></testcase></testsuite>\n`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** Escapes text for XML and leaves out what XML 1.0 cannot hold. */
function xml(text: string): string {
  return [...text]
    .filter(character => character >= ' ' || character === '\n' || character === '\t')
    .join('')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
