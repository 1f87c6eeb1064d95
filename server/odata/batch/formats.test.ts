import assert from 'node:assert/strict';
import { arraySlices, objectSlices } from '../../edm/index.ts';
import { parseJsonBatch, writeJsonBatch } from './json-batch.ts';
import { parseMultipartBatch, writeMultipartBatch } from './multipart.ts';

const code = (expected: string) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === expected;
const lines = (...text: string[]) => text.join('\r\n');

describe('reading a multipart batch', () => {
  const read = (body: string, type = 'multipart/mixed;boundary=b') =>
    parseMultipartBatch(body, type, 100).members;
  const part = lines(
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    '',
    'GET EntityEvent?$top=1 HTTP/1.1',
    'Accept: application/json',
    '',
    '',
  );
  const expected = { method: 'GET', url: 'EntityEvent?$top=1' };
  const seen = (body: string, type?: string) => read(body, type).map(({ method, url }) => ({ method, url }));

  it('reads parts with their headers and body', () => {
    const [member] = read(
      lines(
        '--b',
        'Content-Type: application/http',
        'Content-ID: 7',
        '',
        'post /Property HTTP/1.1',
        'Content-Type: application/json',
        'X-One:  a: b ',
        '',
        '{"a":1}',
        '--b--',
      ),
    );
    assert.deepEqual(member, {
      id: '7',
      method: 'POST',
      url: '/Property',
      body: '{"a":1}',
      dependsOn: [],
      group: undefined,
      condition: false,
      headers: { 'content-type': 'application/json', 'x-one': 'a: b' },
    });
  });

  it('takes boundaries quoted, with odd characters, and followed by spaces', () => {
    for (const [type, boundary] of [
      ['multipart/mixed; boundary="b"', 'b'],
      ['multipart/mixed; charset=utf-8; Boundary=b', 'b'],
      ['multipart/mixed;boundary="a b:(c)=/?"', 'a b:(c)=/?'],
      [`multipart/mixed;boundary="q\\"q"`, 'q"q'],
    ] as const) {
      assert.deepEqual(seen(`--${boundary}  \r\n${part}\r\n--${boundary}--`, type), [expected], type);
    }
  });

  it('takes LF alone, text before and after, and no blank line at the end', () => {
    assert.deepEqual(seen(`before\r\n--b\r\n${part}\r\n--b--\r\nafter --b`), [expected]);
    assert.deepEqual(seen(`--b\n${part.replaceAll('\r', '')}\n--b--`), [expected]);
    assert.deepEqual(seen('--b\nContent-Type: application/http\n\nGET EntityEvent?$top=1\n--b--'), [
      expected,
    ]);
  });

  it('takes parts without headers, and blank lines too many', () => {
    assert.deepEqual(seen('--b\r\n\r\nGET EntityEvent?$top=1 HTTP/1.1\r\n\r\n\r\n--b--'), [expected]);
    assert.deepEqual(seen('--b\r\nGET EntityEvent?$top=1 HTTP/1.1\r\n--b--'), [expected]);
    const body =
      '--b\r\nContent-Type: application/http\r\n\r\n\r\n\r\nGET EntityEvent?$top=1 HTTP/1.1\r\nAccept: a/b\r\n\r\n\r\n\r\n--b--';
    assert.deepEqual(seen(body), [expected]);
    assert.equal(read(body)[0]?.body, undefined);
    assert.equal(read(body)[0]?.headers.accept, 'a/b');
  });

  it('keeps spaces that a client forgot to encode in the URL', () => {
    const [member] = read("--b\r\n\r\nGET Property?$filter=City eq 'A B' HTTP/1.1\r\n--b--");
    assert.equal(member?.url, "Property?$filter=City eq 'A B'");
  });

  it('does not take a boundary within a line, or one that only begins alike', () => {
    const body = lines('--b', '', 'POST X HTTP/1.1', '', 'text --b', '--bb', 'more', '--b--');
    assert.equal(read(body)[0]?.body, 'text --b\r\n--bb\r\nmore');
  });

  it('reads a change set as a group', () => {
    const inner = lines(
      '--c',
      'Content-ID: 1',
      '',
      'POST A HTTP/1.1',
      '',
      '--c',
      'Content-ID: 2',
      '',
      'DELETE B HTTP/1.1',
      '',
      '--c--',
    );
    const members = read(
      lines(
        '--b',
        '',
        'GET X HTTP/1.1',
        '',
        '--b',
        'Content-Type: multipart/mixed; boundary=c',
        '',
        inner,
        '--b--',
      ),
    );
    assert.deepEqual(
      members.map(({ id, group }) => [id, group]),
      [
        [undefined, undefined],
        ['1', 'changeset-1'],
        ['2', 'changeset-1'],
      ],
    );
  });

  it('refuses what is no batch: no boundary, no part, a part that is cut off, another type', () => {
    for (const [body, type] of [
      ['', undefined],
      ['--b', undefined],
      ['--b\r\n', undefined],
      [`--b\r\n${part}`, undefined],
      ['--x\r\n--x--', undefined],
      [`--b\r\n${part}\r\n--b--`, 'multipart/mixed'],
      ['--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--', undefined],
      ['--b\r\n\r\n\r\n--b--', undefined],
      ['--b\r\n\r\nGET\r\n--b--', undefined],
    ] as const) {
      assert.throws(() => read(body, type), code('EE-114'), body);
    }
    assert.throws(() => read(`${'--b\r\n\r\nGET X HTTP/1.1\r\n'.repeat(102)}--b--`), code('EE-106'));
  });

  it('reads a megabyte of the worst text in linear time', () => {
    const started = performance.now();
    for (const body of [
      `--b\r\na: ${' '.repeat(1_000_000)}x\r\n--b--`,
      '--b'.repeat(300_000),
      '\r\n'.repeat(500_000),
      `--b\r\n\r\nGET X${' '.repeat(1_000_000)}Y\r\n--b--`,
    ]) {
      try {
        read(body);
      } catch (error) {
        assert.ok(code('EE-114')(error));
      }
    }
    assert.ok(performance.now() - started < 1_000);
  });
});

describe('writing a multipart batch', () => {
  const answer = (id: string, group: string | undefined, status: number, body?: string) => ({
    id,
    group,
    status,
    headers: { 'OData-Version': '4.0' },
    body,
  });

  it('writes parts that its own reader takes apart again', () => {
    const { contentType, body } = writeMultipartBatch([
      answer('1', undefined, 200, '{"a":"ü"}'),
      answer('2\r\nX: y', undefined, 204),
    ]);
    assert.match(contentType, /^multipart\/mixed;boundary=batch_/);
    assert.match(
      body,
      /Content-ID: 1\r\n\r\nHTTP\/1\.1 200 OK\r\nOData-Version: 4\.0\r\nContent-Length: 10\r\n\r\n\{"a":"ü"\}\r\n--/,
    );
    assert.match(body, /Content-ID: 2 X: y\r\n\r\nHTTP\/1\.1 204 No Content\r\n/);
  });

  it('answers a change set by a part with a part for each, and one that failed by its one failure', () => {
    const fine = writeMultipartBatch([
      answer('1', 'g', 200),
      answer('2', 'g', 204),
      answer('3', undefined, 200),
    ]).body;
    assert.equal(fine.match(/Content-Type: multipart\/mixed;boundary=changeset_/g)?.length, 1);
    assert.equal(fine.match(/HTTP\/1\.1/g)?.length, 3);
    const failed = writeMultipartBatch([answer('1', 'g', 424), answer('2', 'g', 400, '{}')]).body;
    assert.doesNotMatch(failed, /changeset_|424/);
    assert.equal(failed.match(/HTTP\/1\.1 400/g)?.length, 1);
  });
});

describe('a batch in JSON', () => {
  const request = (extra: object) =>
    JSON.stringify({ requests: [{ id: '1', method: 'get', url: 'X', ...extra }] });

  it('keeps the digits of numbers in a body', () => {
    const body =
      '{ "requests" : [ {"id":"1","body":{"n":9007199254740993, "s":"}\\"]"},"method":"Post","url":"X"}, {"id":"2","method":"GET","url":"Y"} ] }';
    const { members } = parseJsonBatch(body);
    assert.equal(members[0]?.body, '{"n":9007199254740993, "s":"}\\"]"}');
    assert.equal(members[0]?.method, 'POST');
    assert.equal(members[1]?.body, undefined);
    assert.deepEqual(
      [...objectSlices('{"a":[1,{"b":"]"}],"a":-1.5e3 ,"c" : null}')],
      [
        ['a', '-1.5e3'],
        ['c', 'null'],
      ],
    );
    assert.deepEqual(arraySlices('[ true ,"a,b", [] , {} ]'), ['true', '"a,b"', '[]', '{}']);
    assert.deepEqual(arraySlices('[]'), []);
  });

  it('takes text for a body that is not JSON, and headers that are no text', () => {
    const { members } = parseJsonBatch(
      request({ headers: { 'Content-Type': 'text/plain', 'X-N': 1 }, body: '$top=1' }),
    );
    assert.equal(members[0]?.body, '$top=1');
    assert.deepEqual(members[0]?.headers, { 'content-type': 'text/plain', 'x-n': '1' });
  });

  it('refuses what is no batch', () => {
    for (const body of [
      '',
      '{',
      '[]',
      'null',
      '{}',
      '{"requests":{}}',
      '{"requests":[1]}',
      request({ id: 1 }),
      request({ id: '' }),
      request({ url: null }),
      request({ method: 1 }),
      request({ dependsOn: '1' }),
      request({ dependsOn: [1] }),
      request({ headers: [] }),
      request({ headers: { a: {} } }),
      request({ atomicityGroup: 1 }),
      request({ url: '\ud800' }),
    ]) {
      assert.throws(() => parseJsonBatch(body), code('EE-114'), body);
    }
  });

  it('writes JSON as it is, text as a string and the rest as base64url', () => {
    const answer = (type: string, body: string) => ({
      id: '1',
      group: 'g',
      status: 200,
      headers: { 'Content-Type': type },
      body,
    });
    const { body } = writeJsonBatch([
      answer('application/json;odata.metadata=none', '{"n":9007199254740993}'),
      answer('text/plain', '5'),
      answer('application/xml', '<ü/>'),
    ]);
    assert.match(body, /"body":\{"n":9007199254740993\}/);
    const { responses } = JSON.parse(body) as {
      responses: { body: unknown; atomicityGroup: string; headers: object }[];
    };
    assert.equal(responses[1]?.body, '5');
    assert.equal(responses[2]?.body, Buffer.from('<ü/>').toString('base64url'));
    assert.deepEqual(responses[1]?.headers, { 'content-type': 'text/plain' });
  });
});
