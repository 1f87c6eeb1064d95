import { documents, rulesFor } from './matrix.ts';
import { rules } from './rules/index.ts';

/** The lines between which the generated part of the documentation stands. */
const matrixMarks = { begin: '<!-- matrix: begin -->', end: '<!-- matrix: end -->' };

/** The matrix of clauses and rules as Markdown, for `docs/conformance-suite.md`. */
function matrixMarkdown(): string {
  const parts = documents.map(({ title, clauses }) => {
    const rows = clauses.map(clause => {
      const ids = rulesFor(clause.id);
      const cell = ids.length > 0 ? ids.map(id => `\`${id}\``).join(', ') : `none: ${clause.unseen ?? ''}`;
      return `| ${clause.id} | ${clause.level} | ${clause.text} | ${cell} |`;
    });
    return [`### ${title}`, '', '| clause | level | in short | rules |', '|---|---|---|---|', ...rows].join(
      '\n',
    );
  });
  const list = rules.map(
    rule => `| \`${rule.id}\` | ${rule.level} | ${rule.modes.join(', ')} | ${rule.clause} |`,
  );
  const all = ['### All rules', '', '| rule | level | modes | clause |', '|---|---|---|---|', ...list].join(
    '\n',
  );
  return `${[...parts, all].join('\n\n')}\n`;
}

/** Puts the matrix between its marks. @throws Error when the page has no marks. */
export function withMatrix(page: string): string {
  const begin = page.indexOf(matrixMarks.begin);
  const end = page.indexOf(matrixMarks.end);
  if (begin < 0 || end < begin) throw new Error('the page has no marks for the matrix');
  return `${page.slice(0, begin + matrixMarks.begin.length)}\n\n${matrixMarkdown()}\n${page.slice(end)}`;
}
