import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { Report } from '../report.ts';
import { modes } from '../rule.ts';
import { runConformance } from '../runner.ts';
import { quick, runAgainst } from '../testing/run-against.ts';
import { htmlReport } from './html.ts';
import { jsonReport } from './json.ts';
import { junitReport } from './junit.ts';
import { progressLine, terminalReport } from './terminal.ts';

const schemaFile = new URL('../../schema/conformance-report.schema.json', import.meta.url);
const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const validate = ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8')));

function assertValid(report: Report): void {
  assert.ok(validate(JSON.parse(jsonReport(report))), JSON.stringify(validate.errors));
}

/** Opening and closing tags must match; the reports hold no CDATA and no comments. */
function assertBalanced(xml: string): void {
  const open: string[] = [];
  for (const tag of xml.matchAll(/<(\/?)([a-z-]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (tag[3] === '/') continue;
    if (tag[1] === '/') assert.equal(open.pop(), tag[2]);
    else open.push(tag[2] ?? '');
  }
  assert.deepEqual(open, []);
}

describe('the reports of a run', () => {
  let broken: Report;

  before(async () => {
    broken = await runAgainst(
      {
        broken: [
          'repeat-at-page-border',
          'nextlink-stops-early',
          'hidden-record-403',
          'unknown-option-ignored',
        ],
      },
      'observe',
    );
  });

  for (const mode of modes) {
    it(`as JSON fit the schema in mode ${mode}`, async () => {
      assertValid(await runAgainst({ broken: ['unsorted', 'push-unordered', 'late-commit'] }, mode));
    });
  }

  it('as JSON fit the schema when nothing could be run', async () => {
    assertValid(await runConformance({ ...quick, url: 'http://no-such-host.invalid/' }));
  });

  it('as JUnit hold one case for each rule and one failure for each broken MUST', () => {
    const xml = junitReport(broken);
    assertBalanced(xml.replace(/^<\?xml.*?\?>/, ''));
    assert.equal(xml.match(/<testcase /g)?.length, broken.rules.length);
    assert.equal(xml.match(/<failure /g)?.length, broken.counts.fail);
    assert.equal(xml.match(/<skipped /g)?.length, broken.counts.skip);
    assert.match(xml, /warning: HTTP 200 for \$fliter/);
  });

  it('as JUnit hold an error when nothing could be run', async () => {
    const report = await runConformance({ ...quick, url: 'http://no-such-host.invalid/' });
    assert.match(junitReport(report), /errors="1".*<error message=".*host name is not known"/s);
  });

  it('as HTML refer to nothing outside and show each rule', () => {
    const html = htmlReport(broken);
    assert.doesNotMatch(html, /<(script|link|img|iframe)|src=|url\(/);
    for (const rule of broken.rules) assert.ok(html.includes(rule.id), rule.id);
    assert.ok(html.includes('What to do:'));
  });

  it('as HTML draw one bar for each request of the walk, with repeats and seeks marked', () => {
    const html = htmlReport(broken);
    const bars = html.match(/<rect class="(good|bad|seek)"/g) ?? [];
    assert.equal(bars.length, broken.walk?.steps.length);
    assert.ok(bars.some(bar => bar.includes('bad')));
    assert.ok(bars.some(bar => bar.includes('seek')));
  });

  it('as HTML escape what a server sends', () => {
    const [first, ...rest] = broken.rules;
    assert.ok(first !== undefined);
    const html = htmlReport({ ...broken, rules: [{ ...first, reason: '<b onload="x">&' }, ...rest] });
    assert.ok(html.includes('&lt;b onload=&quot;x&quot;&gt;&amp;'));
  });

  it('hold no token, in no form', () => {
    for (const text of [
      jsonReport(broken),
      junitReport(broken),
      htmlReport(broken),
      terminalReport(broken, true),
    ]) {
      assert.ok(!text.includes('token-of-the-breakable-server'));
    }
  });

  it('give each fault a curl command that repeats it', () => {
    for (const rule of broken.rules.filter(each => each.outcome === 'fail')) {
      assert.match(rule.evidence[0]?.curl ?? '', /^curl -i -g .*"Authorization: Bearer \$TOKEN".* 'http:/);
    }
  });

  it('on a terminal end with the verdict, without control characters where it is none', () => {
    const text = terminalReport(broken, false);
    assert.match(text, /\nnot conformant\n$/);
    assert.equal(
      [...text].find(character => character < ' ' && character !== '\n'),
      undefined,
    );
  });

  it('are preceded by a progress line on a terminal only', () => {
    const written: string[] = [];
    const progress = { done: 1, total: 2, rule: 'a/b', outcome: 'pass' } as const;
    progressLine({ isTty: false, write: text => written.push(text) })(progress);
    assert.equal(written.length, 0);
    progressLine({ isTty: true, write: text => written.push(text) })(progress);
    assert.match(written.join(''), /1\/2 a\/b/);
  });
});
