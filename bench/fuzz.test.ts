import assert from 'node:assert/strict';
import { fuzz } from './fuzz.ts';
import { faultOf } from './fuzz-answer.ts';

describe('mutated requests', () => {
  it('are all answered in time, without a fault of ours, with a valid OData error where they are refused', async function () {
    this.timeout(120_000);
    const seconds = Number(process.env.PULSEFEED_FUZZ_SECONDS ?? 5);
    const result = await fuzz({ seconds, requests: Number.MAX_SAFE_INTEGER });
    assert.deepEqual(result.faults, [], result.seed);
    assert.ok(result.requests > 100, `${result.requests} requests`);
    // Both sides of the service were met, not one refusal over and over.
    for (const status of ['200', '400', '404', '501']) assert.ok((result.statuses[status] ?? 0) > 0, status);
  });

  it('are judged: a 5xx, a second version, a body that is no error', () => {
    const headers = ['OData-Version', '4.01', 'Content-Type', 'application/json'];
    const error = '{"error":{"code":"EE-101","message":"m"}}';
    assert.equal(faultOf('GET', { status: 400, rawHeaders: headers, body: error }), undefined);
    assert.equal(faultOf('GET', { status: 501, rawHeaders: headers, body: error }), undefined);
    for (const [status, rawHeaders, body] of [
      [500, headers, error],
      [503, headers, error],
      [400, [...headers, 'odata-version', '4.0'], error],
      [400, headers, '{}'],
      [400, headers, '{"error":{"code":"EE-101","message":""}}'],
      [400, ['OData-Version', '4.0', 'Content-Type', 'text/html'], error],
      [405, headers, error],
      [200, headers, '{"value":['],
      [204, headers, 'x'],
      [200, ['OData-Version', '4.0'], '{}'],
    ] as const) {
      assert.notEqual(faultOf('GET', { status, rawHeaders, body }), undefined, `${status} ${body}`);
    }
  });
});
