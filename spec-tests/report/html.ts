import type { Evidence } from '../http/evidence.ts';
import type { Report, RuleResult } from '../report.ts';
import type { Outcome } from '../rule.ts';
import { styles } from './styles.ts';
import { walkPicture } from './walk-picture.ts';

const groups: readonly { outcome: Outcome; title: string; open: boolean }[] = [
  { outcome: 'fail', title: 'Broken', open: true },
  { outcome: 'warn', title: 'Recommendations not followed', open: true },
  { outcome: 'skip', title: 'Not exercised', open: false },
  { outcome: 'pass', title: 'Kept', open: false },
];

/** The report as one HTML page without any outside reference, so that it can be mailed. */
export function htmlReport(report: Report): string {
  const title = `Conformance of ${report.url}`;
  const walk = report.walk;
  const picture =
    walk === undefined
      ? ''
      : `<section><h2>The log as it was walked</h2>${walkPicture(walk)}${walk.note === undefined ? '' : `<p class="note">${escapeHtml(walk.note)}</p>`}</section>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${styles}</style></head>
<body><main>${header(report)}${picture}${groups.map(group => section(report, group)).join('')}
<footer>Made by ${escapeHtml(report.suite)}. Clauses are given in the suite's own words; the standards themselves decide.</footer>
</main></body></html>
`;
}

function header(report: Report): string {
  const words = { yes: 'Conformant', no: 'Not conformant', unknown: 'Could not be judged' };
  const facts: [string, string][] = [
    ['Mode', report.mode],
    ['Web API Core claimed', report.core],
    ['Started', report.startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')],
    ['Took', `${(report.durationMs / 1000).toFixed(1)} s, ${report.requests} requests`],
    [
      'Events walked',
      report.walk === undefined ? 'none' : `${report.walk.events}${report.walk.complete ? '' : ' (a part)'}`,
    ],
  ];
  if (report.throttled > 0) facts.push(['Asked to wait', `${report.throttled} times (429)`]);
  const list = facts
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`)
    .join('');
  const problem = report.problem === undefined ? '' : `<p class="problem">${escapeHtml(report.problem)}</p>`;
  return `<header><p class="badge ${report.conformant}">${words[report.conformant]}</p>
<h1>${escapeHtml(report.url)}</h1>${problem}<dl>${list}</dl>${tally(report)}</header>`;
}

function tally(report: Report): string {
  const names: Record<Outcome, string> = {
    pass: 'kept',
    fail: 'broken',
    warn: 'warnings',
    skip: 'not exercised',
  };
  const order: Outcome[] = ['fail', 'warn', 'skip', 'pass'];
  const cells = order.map(
    each => `<span class="count ${each}"><b>${report.counts[each]}</b> ${names[each]}</span>`,
  );
  return `<p class="tally">${cells.join('')}</p>`;
}

function section(report: Report, group: (typeof groups)[number]): string {
  const rules = report.rules.filter(rule => rule.outcome === group.outcome);
  if (rules.length === 0) return '';
  const items = rules.map(rule => ruleItem(rule, group.open)).join('');
  return `<section class="${group.outcome}"><h2>${group.title} <small>${rules.length}</small></h2>${items}</section>`;
}

function ruleItem(rule: RuleResult, isOpen: boolean): string {
  const remedy =
    rule.remedy === undefined ? '' : `<p class="remedy"><b>What to do:</b> ${escapeHtml(rule.remedy)}</p>`;
  const evidence = rule.evidence.map(evidenceItem).join('');
  return `<details${isOpen ? ' open' : ''}><summary><span class="dot ${rule.outcome}"></span><code>${escapeHtml(rule.id)}</code>
<span class="level">${rule.level}</span><span class="reason">${escapeHtml(rule.reason)}</span></summary>
<div class="body"><p>${escapeHtml(rule.clause)}</p>${remedy}
<p class="asked"><b>Sent:</b> ${escapeHtml(rule.sends)}<br><b>Expected:</b> ${escapeHtml(rule.expects)}</p>${evidence}</div></details>`;
}

function evidenceItem(evidence: Evidence): string {
  const headers = Object.entries(evidence.responseHeaders).map(([name, value]) => `${name}: ${value}`);
  const answer = [`HTTP ${evidence.status}`, ...headers, '', evidence.responseBody].join('\n').trimEnd();
  return `<pre class="request">${escapeHtml(evidence.curl)}</pre><pre class="answer">${escapeHtml(answer)}</pre>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
