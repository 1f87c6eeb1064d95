import assert from 'node:assert/strict';
import { bindFilter } from './bind.ts';
import { model, thing } from './cases/sample-model.ts';
import { lowerBound } from './index.ts';
import { parseExpression } from './parse.ts';

const bound = (filter: string) => lowerBound(bindFilter(parseExpression(filter), thing, { model }), 'Id');

describe('the lower bound that a filter sets', () => {
  it('is the same for each spelling of the same comparison', () => {
    for (const filter of [
      'Id gt 100',
      'Id ge 101',
      '100 lt Id',
      '101 le Id',
      'not (Id le 100)',
      'not (Id lt 101)',
      'not not (Id gt 100)',
      'Id gt 100.0',
      'Id gt 100.5',
      'Id ge 100.5',
      'Id ge 101.0',
      'Id gt 1e2',
      '101 eq Id',
      'Id gt 100 or Id gt 200',
      'Id gt 100 and Id gt 50',
      'Id gt 100 and Id lt 900',
      '(Id gt 300 or 100 lt Id) and not (900 le Id)',
    ]) {
      assert.equal(bound(filter), 100n, filter);
    }
    assert.equal(bound('Id gt -1.5'), -2n);
    assert.equal(bound('Id ge -1.5'), -2n);
  });

  it('is none where rows of any number may match', () => {
    for (const filter of [
      'Id lt 100',
      '100 gt Id',
      'Id ne 100',
      'not (Id eq 100)',
      'not (Id gt 100)',
      'Id gt 100 or Id lt 5',
      'not (Id gt 100 and Id lt 200)',
      'Id add 1 gt 100',
      'Id gt Id',
    ]) {
      assert.equal(bound(filter), undefined, filter);
    }
  });
});
