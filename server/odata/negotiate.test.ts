import assert from 'node:assert/strict';
import { acceptsText, negotiateJson, negotiateVersion, versionOr, wantsXml } from './negotiate.ts';

const code = (expected: string) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === expected;

describe('version negotiation', () => {
  it('takes the greatest supported version that is not above OData-MaxVersion, comparing decimals', () => {
    const cases = {
      '4.0': '4.0',
      '4.00': '4.0',
      '4.001': '4.0',
      '4.01': '4.01',
      '4.1': '4.01',
      '5.0': '4.01',
      '9.9': '4.01',
    };
    for (const [asked, version] of Object.entries(cases)) {
      assert.equal(negotiateVersion(asked).version, version, asked);
    }
    assert.deepEqual(negotiateVersion(undefined), { version: '4.01', explicit: false });
    assert.deepEqual(negotiateVersion(' '), { version: '4.01', explicit: false });
  });

  it('refuses a version below 4.0 and what is no version', () => {
    for (const asked of ['3.0', '0', 'abc', '4', '4.0.1', '4.0;x', '-4.0', '4,0']) {
      assert.throws(() => negotiateVersion(asked), code('EE-113'), asked);
      assert.equal(versionOr(asked), '4.01');
    }
  });
});

describe('format negotiation', () => {
  const json = (accept?: string, option?: string, max?: string) =>
    negotiateJson(accept, option, max).contentType;

  it('names the metadata level, spelled by the version that was asked for', () => {
    assert.equal(json(), 'application/json;odata.metadata=minimal');
    assert.equal(json('*/*', undefined, '4.0'), 'application/json;odata.metadata=minimal');
    assert.equal(json('application/json', undefined, '4.01'), 'application/json;metadata=minimal');
    assert.equal(negotiateJson(undefined, undefined, '4.01').prefix, '@');
    assert.equal(negotiateJson(undefined, undefined, '4.0').prefix, '@odata.');
    assert.equal(negotiateJson(undefined, undefined, undefined).prefix, '@odata.');
  });

  it('reads metadata levels with and without prefix, in any case', () => {
    for (const level of ['none', 'minimal', 'full']) {
      for (const name of ['odata.metadata', 'metadata', 'OData.Metadata', 'METADATA']) {
        assert.equal(
          json(`application/json;${name}=${level.toUpperCase()}`),
          `application/json;odata.metadata=${level}`,
        );
      }
    }
  });

  it('echoes IEEE754Compatible, streaming and charset', () => {
    assert.equal(
      json('application/json;IEEE754Compatible=true;odata.streaming=true;charset=utf-8'),
      'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=true;charset=utf-8',
    );
    assert.equal(json('application/json;IEEE754Compatible=false'), 'application/json;odata.metadata=minimal');
  });

  it('does not claim the order of streaming with full metadata', () => {
    assert.equal(
      json('application/json;metadata=full;streaming=true'),
      'application/json;odata.metadata=full',
    );
  });

  it('passes over ranges with unknown parameters and refuses when none is left', () => {
    assert.equal(
      json('application/json;odata=verbose;q=1,application/json;odata.metadata=none;q=0.1'),
      'application/json;odata.metadata=none',
    );
    for (const accept of [
      'application/json;foo=1',
      'application/json;odata.metadata=most',
      'application/json;charset=utf-16',
      'application/atom+xml',
      'text/html',
      'application/json;q=0',
      'nonsense',
    ]) {
      assert.throws(() => json(accept), code('EE-109'), accept);
    }
  });

  it('lets $format go before Accept and takes no parameters on the abbreviation', () => {
    assert.equal(json('application/xml', 'json'), 'application/json;odata.metadata=minimal');
    assert.equal(
      json('application/xml', 'application/json;odata.metadata=full'),
      'application/json;odata.metadata=full',
    );
    for (const option of ['xml', 'atom', 'json;odata.metadata=full', '', '*/*', 'application/xml']) {
      assert.throws(() => json(undefined, option), code('EE-109'), option);
    }
  });

  it('writes metadata as XML unless JSON is preferred', () => {
    assert.equal(wantsXml(undefined, undefined), true);
    assert.equal(wantsXml('*/*', undefined), true);
    assert.equal(wantsXml('application/json', undefined), false);
    assert.equal(wantsXml('application/json;q=0.5,application/xml', undefined), true);
    assert.equal(wantsXml('application/xml', 'json'), false);
    assert.throws(() => wantsXml('image/png', undefined), code('EE-109'));
  });

  it('serves text to those who ask for JSON out of habit', () => {
    for (const accept of [undefined, '', '*/*', 'text/plain', 'application/json;odata.metadata=minimal']) {
      assert.equal(acceptsText(accept), true, accept);
    }
    assert.equal(acceptsText('image/png'), false);
  });
});
