import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { PulsefeedError } from '../server/base/errors.ts';
import { datePattern, isoDate } from './date-pattern.ts';
import { type FileRows, readRows } from './file-rows.ts';
import { FaultList } from './input-fault.ts';
import { mostLineBytes } from './text-lines.ts';

describe('input of the seeding tool', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pulsefeed-input-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** Reads a file of these bytes; rows as `key modified`, faults as `line:column: message`. */
  async function read(
    name: string,
    content: string | Uint8Array,
    options: Partial<FileRows> = {},
  ): Promise<{ rows: string[]; faults: string[]; bad: unknown[] }> {
    const path = join(folder, name);
    const badFile = `${path}.bad`;
    await writeFile(path, content);
    const faults = new FaultList(name, badFile);
    const rows: string[] = [];
    try {
      const wanted = { path, name, keyColumns: ['id'], separator: '~', optional: [], ...options };
      for await (const batch of readRows(wanted, faults)) {
        rows.push(...batch.map(({ key, modified }) => `${key} ${modified}`));
      }
    } finally {
      faults.close();
    }
    const bad = (await readFile(badFile, 'utf8')).split('\n').filter(line => line !== '');
    return {
      rows,
      faults: faults.first.map(({ line, column, message }) => `${line}:${column}: ${message}`),
      bad: bad.map(line => JSON.parse(line)),
    };
  }
  const modified = { modified: { name: 'date', read: datePattern("yyyyMMdd'T'HHmmss") } };

  it('reads keys and dates of CSV with quotes, line breaks in quotes, CR LF and a byte order mark', async () => {
    const content =
      '\uFEFFid,remarks,date\r\n"1","He said ""yes"", then\r\nleft",20150307T000000\r\n\r\n2,,\r\nZoë/3,x,20150308T010203';
    const { rows, faults } = await read('a.csv', content, modified);
    assert.deepEqual(faults, []);
    assert.deepEqual(rows, ['1 2015-03-07T00:00:00Z', '2 null', 'Zoë/3 2015-03-08T01:02:03Z']);
  });

  it('reads JSON lines, with keys that are texts or exact numbers', async () => {
    const content =
      '{"id":1,"date":"20150307T000000"}\n\n{"date":null,"id":"x\\"y"}\r\n{"id":9007199254740991}';
    const { rows, faults } = await read('a.ndjson', content, modified);
    assert.deepEqual(faults, []);
    assert.deepEqual(rows, ['1 2015-03-07T00:00:00Z', 'x"y null', '9007199254740991 null']);
  });

  it('reads what gzip compressed, in several members too', async () => {
    const content = Buffer.concat([gzipSync('id\n1\n'), gzipSync('2\n3\n')]);
    assert.deepEqual((await read('a.csv.gz', content)).rows, ['1 null', '2 null', '3 null']);
  });

  it('names line and column of each broken CSV record and goes on behind it', async () => {
    const content = [
      'id,city,date', // 1
      '1,Ballard,20150307T000000', // 2
      '2,"Ballard,20150307T000000', // 3: left open
      '3,Ballard,20150307T000000', // 4
      '4,Bal"lard,20150307T000000', // 5
      '5,"Bal"lard,20150307T000000', // 6
      '6,Ballard', // 7
      '7,Ballard,20150307T000000,more', // 8
      ',Ballard,20150307T000000', // 9
      '  ,Ballard,20150307T000000', // 10
      `${'k'.repeat(256)},Ballard,20150307T000000`, // 11
      `${'k'.repeat(255)},Ballard,20150307T000000`, // 12
      '"a ""b""",Ballard,20151307T000000', // 13: no such month
      '8,"two', // 14
      'lines",2015', // 15
      '9,Ballard,20150307T000000', // 16
    ].join('\n');
    const { rows, faults, bad } = await read('b.csv', content, modified);
    assert.deepEqual(faults, [
      '3:3: this quote is never closed',
      '5:6: there is a quote in a field that is not quoted',
      '6:8: there is text after the closing quote',
      '7:10: expected 3 fields, found 2',
      '8:27: expected 3 fields, found 4',
      '9:1: "id": the key is missing',
      '10:1: "id": the key is missing',
      '11:1: "id": the key is 256 characters long, at most 255 fit',
      '13:19: "date": "20151307T000000" is not a date of this form',
      '15:8: "date": "2015" is not a date of this form',
    ]);
    assert.deepEqual(
      rows.map(row => row.slice(0, 3)),
      ['1 2', '3 2', 'kkk', '9 2'],
    );
    assert.deepEqual(bad[0], {
      file: 'b.csv',
      line: 3,
      column: 3,
      message: 'this quote is never closed',
      record: '2,"Ballard,20150307T000000',
    });
  });

  it('counts characters of a key as the database does, not UTF-16 units', async () => {
    const fits = '\u{1F3E0}'.repeat(255);
    const { rows, faults } = await read('c.csv', `id\n${fits}\n${fits}x\n`);
    assert.deepEqual(rows, [`${fits} null`]);
    assert.deepEqual(faults, ['3:1: "id": the key is 256 characters long, at most 255 fit']);
  });

  it('blames only the line with the open quote, however much follows', async () => {
    const many = Array.from({ length: 20_000 }, (_, n) => `${n},x`).join('\n');
    const { rows, faults } = await read('d.csv', `id,a\nA,"x\n${many}\nB,"y\n`);
    assert.equal(rows.length, 20_000);
    assert.deepEqual(faults, ['2:3: this quote is never closed', '20003:3: this quote is never closed']);
  });

  it('names the place of the first byte that is not UTF-8', async () => {
    const line = (text: string, ...bytes: number[]) => Buffer.concat([Buffer.from(text), Buffer.from(bytes)]);
    const content = Buffer.concat([
      line('id,city\n1,Zürich\n2,Z', 0xfc, 0x72, 0x0a),
      line('3,Zürich\n4,Zoë ', 0xe2, 0x82, 0x0a),
      line('5,x\n'),
    ]);
    const { rows, faults } = await read('e.csv', content);
    assert.deepEqual(rows, ['1 null', '3 null', '5 null']);
    assert.deepEqual(faults, ['3:4: this is not UTF-8', '5:7: this is not UTF-8']);
  });

  it('tells that a compressed file is cut off, and takes no record that may be cut', async () => {
    const lines = Array.from({ length: 50_000 }, (_, n) => `${n}-${(n * 7919) % 100_003}`);
    const whole = gzipSync(['id', ...lines].join('\n'));
    const { rows, faults } = await read('f.csv.gz', whole.subarray(0, whole.length - 5_000));
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? '', /: the compressed file is cut off here$/);
    assert.ok(rows.length > 1_000 && rows.length < lines.length, `${rows.length}`);
    assert.deepEqual(
      rows,
      lines.slice(0, rows.length).map(key => `${key} null`),
    );
  });

  it('tells that a compressed file is damaged', async () => {
    const whole = gzipSync(Buffer.from(`id\n${'1234567890\n'.repeat(1_000)}`));
    whole[0] = 0;
    await assert.rejects(read('g.csv.gz', whole), /g\.csv\.gz:1:1: the compressed file is damaged here/);
  });

  it('names line and column of each JSON line that cannot be used', async () => {
    const content = [
      '{"id":"1","date":"20150307T000000"}', // 1
      '{"id":"2",}', // 2
      '{"id":"3"', // 3
      '[1]', // 4
      '{"date":"20150307T000000"}', // 5
      '{"id":9007199254740993}', // 6
      '{"id":"4","date":"2015"}', // 7
      '{"id":"\\ud800"}', // 8
      '{"id":"a\\u0000b"}', // 9
      '{"id":null}', // 10
      'id', // 11
      '{"id":{"a":[1,2 3]}}', // 12
    ].join('\n');
    const { rows, faults } = await read('h.ndjson', content, modified);
    assert.deepEqual(rows, ['1 2015-03-07T00:00:00Z']);
    assert.deepEqual(faults, [
      '2:11: this is not JSON',
      '3:10: the JSON ends too early',
      '4:1: this is not a JSON object',
      '5:1: "id": the key is missing',
      '6:2: "id": the number may have lost digits; write it as a text',
      '7:11: "date": "2015" is not a date of this form',
      '8:2: the value holds half of a character',
      '9:2: the value holds a NUL character',
      '10:2: "id": the key is missing',
      '11:1: this is not JSON',
      '12:17: this is not JSON',
    ]);
  });

  it('joins keys of several columns and refuses those in which the separator stands', async () => {
    const { rows, faults } = await read('i.csv', 'street,no\nMain,1\nMain~1,2\n,3\n', {
      keyColumns: ['street', 'no'],
    });
    assert.deepEqual(rows, ['Main~1 null']);
    assert.deepEqual(faults, [
      '3:1: "street": holds the separator "~", so two keys could be the same',
      '4:1: "street": the key is missing',
    ]);
  });

  it('refuses a file whose columns or beginning are not as told', async () => {
    const date = { modified: { name: 'changed', read: isoDate } };
    await assert.rejects(
      read('j.csv', 'key,date\n1,2\n'),
      /^PulsefeedError: j\.csv:1:1: there is no column "id", only "key", "date"$/,
    );
    await assert.rejects(read('j.csv', 'id,date\n1,2\n', date), /no column "changed"/);
    await assert.rejects(read('j.csv', 'id,a,id\n1,2,3\n'), /j\.csv:1:6: column "id" is there twice/);
    await assert.rejects(read('j.csv', 'id,"a\n1,2\n'), /j\.csv:1:4: this quote is never closed/);
    await assert.rejects(read('j.csv', ''), /j\.csv:1:1: the file is empty/);
    await assert.rejects(
      read('j.ndjson', '{"id":1}\n', date),
      /j\.ndjson:1:1: no record has a field "changed"/,
    );
    await assert.rejects(
      readRows(
        {
          path: join(folder, 'none.csv'),
          name: 'none.csv',
          keyColumns: ['id'],
          separator: '~',
          optional: [],
        },
        new FaultList('none.csv'),
      ).next(),
      (error: unknown) =>
        error instanceof PulsefeedError && error.code === 'EE-706' && /no such file/.test(error.message),
    );
  });

  it('gives a line up that is longer than any record and finds the next', async () => {
    const { rows, faults } = await read('k.csv', `id\n1\n${'x'.repeat(mostLineBytes * 2)}\n2\n`);
    assert.deepEqual(rows, ['1 null', '2 null']);
    assert.deepEqual(faults, [`3:1: the line is longer than ${mostLineBytes} bytes`]);
  });

  it('reads back every text that can be written as CSV', async () => {
    const field = fc
      .string({ unit: 'grapheme' })
      .filter(text => !text.includes('\0') && text.trim() !== '' && text.length < 50);
    const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    await fc.assert(
      fc.asyncProperty(fc.array(field, { minLength: 1 }), async keys => {
        const { rows, faults } = await read(
          'l.csv',
          `n,id\n${keys.map(key => `1,${quote(key)}`).join('\n')}\n`,
        );
        assert.deepEqual(faults, []);
        assert.deepEqual(
          rows,
          keys.map(key => `${key} null`),
        );
      }),
      { numRuns: 50 },
    );
  });
});
