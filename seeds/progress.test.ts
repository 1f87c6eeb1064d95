import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { nextChunkSize } from './number-entries.ts';
import { showProgress } from './progress.ts';
import { reportText } from './report-text.ts';
import type { SeedReport } from './seed-report.ts';

describe('what seeding tells on its way', () => {
  it('writes a line of JSON every five seconds where there is no terminal', () => {
    let ms = 0;
    const lines: unknown[] = [];
    const display = showProgress({ write: text => lines.push(JSON.parse(text)) }, () => ms);
    const at = (seconds: number, done: number) => {
      ms = seconds * 1000;
      display.onProgress({ phase: 'numbering', done, total: 1_000 });
    };
    at(0, 0);
    at(4.9, 90);
    at(5, 100);
    at(9, 200);
    at(10.5, 210);
    display.end();
    assert.deepEqual(lines, [
      { phase: 'numbering', done: 100, total: 1_000, unit: 'records', perSecond: 20, secondsLeft: 45 },
      { phase: 'numbering', done: 210, total: 1_000, unit: 'records', perSecond: 20, secondsLeft: 40 },
    ]);
  });

  it('draws a bar with rate and time left on a terminal', () => {
    const stream = Object.assign(new PassThrough(), {
      isTTY: true,
      columns: 120,
      cursorTo: () => true,
      clearLine: () => true,
      moveCursor: () => true,
    });
    const display = showProgress(stream);
    display.onProgress({ phase: 'lining up', done: 0, total: 0 });
    display.onProgress({ phase: 'numbering', done: 0, total: 1_000 });
    display.onProgress({ phase: 'numbering', done: 1_000, total: 1_000 });
    display.end();
    const text = String(stream.read());
    assert.match(text, /lining up/);
    assert.match(text, /numbering \[.*\] .*0\/1000 records .*\/s .* left/);
  });

  it('lets a step grow while it is quick, shrink when it is slow, and keeps it within its bounds', () => {
    assert.equal(nextChunkSize(50_000, 200, 100_000), 100_000);
    assert.equal(nextChunkSize(80_000, 200, 100_000), 100_000);
    assert.equal(nextChunkSize(50_000, 3_000, 100_000), 50_000);
    assert.equal(nextChunkSize(50_000, 9_000, 100_000), 25_000);
    assert.equal(nextChunkSize(600, 9_000, 100_000), 500);
    assert.equal(nextChunkSize(7, 9_000, 7), 7);
    assert.equal(nextChunkSize(7, 1, 7), 7);
  });

  it('says in the report what was left out, what goes on, and what is to be done', () => {
    const report: SeedReport = {
      dryRun: false,
      resources: [
        { resource: 'Office', level: 0, rank: 0, rows: 2_000, unusable: 0, duplicates: 0, fresh: 2_000 },
        { resource: 'Media', level: 1, rank: 1, rows: 5_001, unusable: 1, duplicates: 2, fresh: 4_998 },
      ],
      resumed: 10,
      seeded: 7_000,
      passedOver: 8,
      finished: false,
      head: '7000',
      seconds: 2,
      first: [],
      bad: { count: 2, first: [{ file: 'x.csv', line: 3, column: 4, message: 'this is not UTF-8' }] },
      loaded: { table: '"public"."media"', rows: 4_998 },
      notes: ['look'],
    };
    assert.equal(
      reportText(report),
      [
        'Seeded 7,000 records in 2.0 s (3,500 a second). The last number is 7000.',
        '  level 0  Office  2,000 rows, 2,000 new',
        '  level 1  Media   5,001 rows, 4,998 new, 2 with the key of another, 1 unusable',
        'An earlier run had lined up 10 of the records.',
        '8 lined-up records got no event of their own: numbered or removed meanwhile, or visible to nobody.',
        'Loaded 4,998 new rows into "public"."media".',
        'Left out 2 records that cannot be used:',
        '  x.csv:3:4: this is not UTF-8',
        '  and 1 more',
        'Note: look',
        'Stopped before all were done. Run the same command again to go on.',
        '',
      ].join('\n'),
    );
  });
});
