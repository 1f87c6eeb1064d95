import assert from 'node:assert/strict';
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
});
