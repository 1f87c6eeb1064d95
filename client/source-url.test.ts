import assert from 'node:assert/strict';
import { linkWithin, serviceRoot } from './source-url.ts';

describe('a nextLink', () => {
  const base = 'https://api.example.com/odata';
  const at = `${base}/EntityEvent?$filter=x`;

  it('is taken relative to its page, or absolute', () => {
    assert.equal(linkWithin(base, at, 'EntityEvent?$skiptoken=1'), `${base}/EntityEvent?$skiptoken=1`);
    assert.equal(linkWithin(base, at, '?$skiptoken=1'), `${base}/EntityEvent?$skiptoken=1`);
    assert.equal(linkWithin(base, at, `${base}/EntityEvent?a`), `${base}/EntityEvent?a`);
  });

  it('stays on the origin that was given, so that credentials do', () => {
    assert.equal(
      linkWithin(base, at, 'http://api.example.com:8080/odata/EntityEvent?a'),
      `${base}/EntityEvent?a`,
    );
    for (const link of [
      'https://evil.example.com/odata/EntityEvent',
      '//evil.example.com/x',
      'file:///etc/passwd',
      'http://',
    ]) {
      assert.equal(linkWithin(base, at, link), undefined, link);
    }
  });
});

describe('the service root', () => {
  it('is told with or without a slash, or by the URL of EntityEvent', () => {
    for (const url of ['https://a/odata', 'https://a/odata/', 'https://a/odata/EntityEvent']) {
      assert.equal(serviceRoot(url), 'https://a/odata');
    }
  });
});
