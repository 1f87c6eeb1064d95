import assert from 'node:assert/strict';
import { parsePath, splitTarget } from './target.ts';

const code = (expected: string) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === expected;

describe('request targets', () => {
  const path = (raw: string) =>
    parsePath(raw).map(({ name, key }) => (key === undefined ? name : `${name}|${key}`));

  it('decodes each segment once, after the split', () => {
    assert.deepEqual(path('/EntityEvent%2842%29/ResourceName'), ['EntityEvent|42', 'ResourceName']);
    assert.deepEqual(path("/Property('a%2Fb%2527')"), ["Property|'a/b%27'"]);
    assert.deepEqual(path("/Property('Z%C3%BCrich')"), ["Property|'Zürich'"]);
  });

  it('forgives doubled and trailing slashes', () => {
    assert.deepEqual(path('//EntityEvent/'), ['EntityEvent']);
    assert.deepEqual(path('/'), []);
  });

  it('refuses a key that a raw slash cuts, and says how a slash is written', () => {
    for (const raw of ["/Property('a/b')", "/Property('a''/b')/City", "/Property('/')"]) {
      assert.throws(() => parsePath(raw), code('EE-100'), raw);
    }
    assert.deepEqual(path("/Property('a%2Fb''%2F')/City"), ["Property|'a/b''/'", 'City']);
  });

  it('refuses broken encoding, NUL and half a surrogate pair', () => {
    for (const raw of ['/%', '/%zz', '/%C3', "/Property('%00')", "/Property('\ud800')"]) {
      assert.throws(() => parsePath(raw), code('EE-100'), raw);
    }
    for (const raw of ['/a b', '/(1)', '/EntityEvent(1', '/EntityEvent)1(', '/42', '/..']) {
      assert.throws(() => parsePath(raw), code('EE-107'), raw);
    }
  });

  it('reads a path of a hundred thousand slashes within a quote in linear time', () => {
    const started = performance.now();
    assert.throws(() => parsePath(`/Property('${'a/'.repeat(100_000)}`), code('EE-100'));
    assert.ok(performance.now() - started < 500);
  });

  it('resolves absolute, host-relative and relative URLs against the service root', () => {
    const base = { root: 'https://feed.example/reso', headers: { host: 'inner:8080' } };
    for (const url of [
      'https://feed.example/reso/EntityEvent?$top=1',
      'HTTPS://FEED.example:443/reso/EntityEvent?$top=1',
      'http://inner:8080/EntityEvent?$top=1',
      '/reso/EntityEvent?$top=1',
      '/EntityEvent?$top=1#part',
      'EntityEvent?$top=1',
      './EntityEvent?$top=1',
    ]) {
      assert.deepEqual(splitTarget(url, base), { rawPath: '/EntityEvent', rawQuery: '$top=1' }, url);
    }
  });

  it('refuses URLs that lead out of the service', () => {
    const base = { root: 'https://feed.example/reso', headers: {} };
    for (const url of [
      'https://other.example/reso/EntityEvent',
      'ftp://feed.example/reso/X',
      '../EntityEvent',
      '/reso/../X',
    ]) {
      assert.throws(() => splitTarget(url, base), code('EE-100'), url);
    }
  });
});
