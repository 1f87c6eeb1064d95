import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { documents, rulesFor } from './matrix.ts';
import { withMatrix } from './matrix-page.ts';
import { modes } from './rule.ts';
import { rules } from './rules/index.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const clauses = documents.flatMap(document => document.clauses);

describe('the matrix of clauses and rules', () => {
  it('has a rule for every MUST, or says why it cannot be seen over HTTP', () => {
    const open = clauses.filter(
      clause => clause.level === 'MUST' && rulesFor(clause.id).length === 0 && clause.unseen === undefined,
    );
    assert.deepEqual(open, []);
  });

  it('gives a reason for exactly the clauses without a rule', () => {
    const wrong = clauses.filter(
      clause => (rulesFor(clause.id).length === 0) !== (clause.unseen !== undefined),
    );
    assert.deepEqual(
      wrong.map(clause => clause.id),
      [],
    );
  });

  it('knows every clause that a rule says it covers', () => {
    const known = new Set(clauses.map(clause => clause.id));
    for (const rule of rules)
      for (const id of rule.covers) assert.ok(known.has(id), `${rule.id} covers ${id}`);
  });

  it('names each clause once', () => {
    assert.equal(new Set(clauses.map(clause => clause.id)).size, clauses.length);
  });

  it('stands in the documentation as it is now', () => {
    const file = here('../docs/conformance-suite.md');
    const page = readFileSync(file, 'utf8');
    // `PULSEFEED_WRITE_DOCS=1` brings the page up to date.
    if (process.env.PULSEFEED_WRITE_DOCS === '1') writeFileSync(file, withMatrix(page));
    else assert.equal(page, withMatrix(page));
  });
});

describe('the rules', () => {
  it('stand one to a file whose path is the id, and are all in the list', () => {
    const files = readdirSync(here('rules'), { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .flatMap(area =>
        readdirSync(here(`rules/${area.name}`)).map(file => `${area.name}/${file.replace(/\.ts$/, '')}`),
      );
    assert.deepEqual(rules.map(rule => rule.id).sort(), files.sort());
  });

  it('say what they send and expect, in which modes they run and what they cover', () => {
    for (const rule of rules) {
      for (const text of [rule.clause, rule.sends, rule.expects]) assert.ok(text.length > 3, rule.id);
      assert.ok(rule.covers.length > 0, rule.id);
      assert.ok(rule.modes.length > 0 && rule.modes.every(mode => modes.includes(mode)), rule.id);
    }
  });
});
