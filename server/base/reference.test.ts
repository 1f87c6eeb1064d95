import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { errorsPage, settingsPage } from '../../testing/reference-pages.ts';
import { packageFile } from './package-root.ts';

describe('the reference pages', () => {
  for (const [name, page] of [
    ['errors.md', errorsPage()],
    ['settings.md', settingsPage()],
  ] as const) {
    it(`${name} says what the table in the code says (PULSEFEED_WRITE_DOCS=1 writes it)`, async () => {
      const path = packageFile(`docs/reference/${name}`);
      if (process.env.PULSEFEED_WRITE_DOCS === '1') await writeFile(path, page);
      assert.equal(await readFile(path, 'utf8'), page);
    });
  }

  it('invariants.md names tests that exist, one at least for each promise', async () => {
    const page = await readFile(packageFile('docs/invariants.md'), 'utf8');
    const rows = page.split('\n').filter(line => /^\| [A-Z]+ \|/.test(line));
    assert.ok(rows.length >= 15);
    for (const row of rows) {
      const tests = [...(row.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? '');
      assert.ok(tests.length > 0, row);
      for (const path of tests) assert.ok(existsSync(packageFile(path)), `${path} is there`);
    }
  });
});
