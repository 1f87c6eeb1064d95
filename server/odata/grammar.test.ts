import assert from 'node:assert/strict';
import { type AbnfCase, homeOf, sharedCases } from '../edm/cases/abnf-cases.ts';
import { CONTEXTS, REFUSED_REQUESTS, UNWRITTEN_CONTEXTS } from './cases/grammar-refusals.ts';
import { OWN_REQUESTS } from './cases/own-requests.ts';
import { contextOf, runRequestCase } from './cases/request-grammar.ts';

const shared = sharedCases<AbnfCase>('odata-abnf-cases.json').filter(one => homeOf(one) === 'request');

describe('the grammar of requests', () => {
  it('is served as the cases of the standard say, but for constructs outside of the model', async () => {
    const used = new Set<string>();
    const wrong: string[] = [];
    for (const one of shared.filter(({ area }) => area !== 'context')) {
      const refusal = await runRequestCase(one);
      const what = `${one.rule}: ${one.input}: ${refusal}`;
      if (!one.valid && refusal === undefined) wrong.push(`accepted ${what}`);
      if (!one.valid || refusal === undefined) continue;
      const reason = REFUSED_REQUESTS.find(item => item.input.test(one.input) && item.refusal.test(refusal));
      if (reason === undefined) wrong.push(what);
      else used.add(reason.construct);
    }
    assert.deepEqual(wrong, []);
    if (shared.length === 0) return;
    const unused = REFUSED_REQUESTS.filter(({ construct }) => !used.has(construct));
    assert.deepEqual(unused, [], 'reasons that no case needs');
  });

  it('is served and refused as our own cases say', async () => {
    const wrong: string[] = [];
    for (const [rule, input, expect] of OWN_REQUESTS) {
      const refusal = await runRequestCase({ rule, input });
      if (!(refusal ?? 'ok').startsWith(expect)) wrong.push(`${input}: ${expect}, but ${refusal}`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(OWN_REQUESTS.length > 350);
  });

  it('is written in context URLs of the standard, never in one that is none', async () => {
    for (const [context, url] of Object.entries(CONTEXTS)) assert.equal(await contextOf(url), context, url);
    for (const { input, valid } of shared.filter(({ area }) => area === 'context')) {
      const served = Object.hasOwn(CONTEXTS, input);
      if (!valid) assert.ok(!served, input);
      if (!valid || served) continue;
      assert.ok(
        UNWRITTEN_CONTEXTS.some(item => item.input.test(input)),
        input,
      );
    }
  });
});
