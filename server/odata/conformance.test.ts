import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../base/package-root.ts';

describe('docs/conformance.md', () => {
  it('names tests that there are', () => {
    const page = readFileSync(packageFile('docs/conformance.md'), 'utf8');
    const shown = [...page.matchAll(/^\|[^|]+\|[^|]+\|[^|]+\|([^|]+)\|$/gm)]
      .map(match =>
        (match[1] ?? '')
          .replace(/\(`[\w/]+`\)/, '')
          .replace(/^ *(?:\$batch|public clients): /, '')
          .trim(),
      )
      .filter(
        title =>
          title !== '' && title !== 'shown by' && !/^(?:-+|as (?:Minimal|Intermediate).*)$/.test(title),
      );
    assert.ok(shown.length > 50);
    const sources = ['server/odata', 'server/edm', 'server/records', 'bench'].flatMap(testSources).join('\n');
    const missing = shown.filter(title => !sources.includes(`it('${title}`));
    assert.deepEqual(missing, []);
  });
});

function testSources(folder: string): string[] {
  return readdirSync(packageFile(folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts'))
    .map(name => readFileSync(join(packageFile(folder), name), 'utf8'));
}
