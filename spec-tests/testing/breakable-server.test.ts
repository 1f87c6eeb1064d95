import assert from 'node:assert/strict';
import type { Report } from '../report.ts';
import { modes } from '../rule.ts';
import { rules } from '../rules/index.ts';
import { runConformance } from '../runner.ts';
import { startBreakableServer } from './breakable-server.ts';
import { type BrokenCase, brokenCases } from './broken-table.ts';
import { quick, red, runAgainst } from './run-against.ts';
import { selfSigned } from './self-signed.ts';
import { type Switch, switches } from './switches.ts';

/** Rules that only some settings reach, each with a claim of its own below. */
const shownBelow = new Map<string, Switch | undefined>([
  ['core-2.0.0/https', undefined],
  ['core-2.1.0/tls-1.2', undefined],
  ['core-2.0.0/client-credentials', 'token-without-type'],
  ['odata-4.01/nextlink-same-origin', 'nextlink-other-origin'],
]);

/** On plain http on the loopback, with a bearer token. */
const notExercised = ['core-2.0.0/client-credentials', 'core-2.0.0/https', 'core-2.1.0/tls-1.2'];

function skipped(report: Report): string[] {
  return report.rules
    .filter(rule => rule.outcome === 'skip')
    .map(rule => rule.id)
    .sort();
}

async function expectExactly({ broken, mode, red: expected }: BrokenCase): Promise<void> {
  const report = await runAgainst({ broken: [broken] }, mode);
  const faults = report.rules.filter(rule => rule.reason.startsWith('fault of the suite'));
  assert.deepEqual(faults, []);
  const reasons = report.rules
    .filter(rule => red(report).includes(rule.id))
    .map(rule => `${rule.id}: ${rule.reason}`);
  assert.deepEqual(red(report), [...expected].sort(), `${broken} in ${mode}:\n${reasons.join('\n')}`);
  for (const rule of report.rules.filter(each => expected.includes(each.id))) {
    assert.equal(rule.outcome, rule.level === 'MUST' ? 'fail' : 'warn');
    assert.ok(rule.remedy !== undefined && rule.remedy !== '', `${rule.id} says what to do`);
  }
}

describe('a server without faults', () => {
  for (const mode of modes) {
    it(`is green in mode ${mode}, and nothing is skipped that it offers`, async () => {
      const report = await runAgainst({}, mode);
      assert.deepEqual(red(report), []);
      assert.deepEqual(skipped(report), mode === 'observe' || mode === 'full' ? notExercised : []);
      assert.equal(report.conformant, 'yes');
      assert.equal(report.problem, undefined);
    });
  }

  it('is green over HTTPS, with https and TLS exercised', async () => {
    const report = await runAgainst({ tls: selfSigned() }, 'observe');
    assert.deepEqual(red(report), []);
    assert.deepEqual(skipped(report), ['core-2.0.0/client-credentials']);
  });

  it('is green with client credentials, whose secret stands nowhere in the report', async () => {
    const server = await startBreakableServer();
    try {
      const report = await runConformance({ ...quick, url: server.url, ...server.client });
      assert.deepEqual(red(report), []);
      assert.deepEqual(skipped(report), ['core-2.0.0/https', 'core-2.1.0/tls-1.2']);
      const text = JSON.stringify(report);
      assert.ok(!text.includes(server.client.clientSecret) && !text.includes(server.token));
    } finally {
      await server.close();
    }
  });

  it('is left without canaries after the modes that write', async () => {
    const server = await startBreakableServer();
    const headers = { Authorization: `Bearer ${server.token}` };
    const listed = async () => (await fetch(`${server.url}/Property?$select=ListingKey`, { headers })).text();
    try {
      const before = await listed();
      await runConformance({ ...quick, url: server.url, token: server.token, mode: 'full' });
      await runConformance({ ...quick, url: server.url, token: server.token, mode: 'stress' });
      assert.equal(await listed(), before);
    } finally {
      await server.close();
    }
  });
});

describe('a push run', () => {
  it('leaves neither subscriptions nor credentials behind', async () => {
    const server = await startBreakableServer();
    try {
      const report = await runConformance({ ...quick, url: server.url, token: server.token, mode: 'push' });
      assert.equal(report.conformant, 'yes');
      assert.deepEqual(server.held(), { subscriptions: 0, credentials: 0 });
    } finally {
      await server.close();
    }
  });

  it('cannot be judged where no subscription can be made', async () => {
    const server = await startBreakableServer();
    try {
      const push = { ...quick.push, credentialId: 'no-such-credential', token: 'x' };
      const report = await runConformance({
        ...quick,
        url: server.url,
        token: server.token,
        mode: 'push',
        push,
      });
      assert.equal(report.conformant, 'unknown');
      assert.match(
        report.problem ?? '',
        /nothing of mode push.*POST EntityEventSubscription answered HTTP 400/,
      );
      assert.deepEqual(
        report.rules.filter(rule => rule.outcome === 'pass').map(rule => rule.id),
        ['rcp-028/hosts-entity-event'],
      );
    } finally {
      await server.close();
    }
  });
});

describe('a server with one fault turns exactly its rules red', () => {
  for (const each of brokenCases.filter(({ mode }) => mode !== 'push')) {
    it(`${each.mode}: ${switches[each.broken]}`, () => expectExactly(each));
  }

  // Push runs wait for Retry-After, so that several can wait at the same time.
  const pushes = brokenCases.filter(({ mode }) => mode === 'push');
  for (let from = 0; from < pushes.length; from += 7) {
    const group = pushes.slice(from, from + 7);
    it(`push: ${group.map(each => switches[each.broken]).join('; ')}`, async () => {
      await Promise.all(group.map(expectExactly));
    });
  }

  it('observe: nextLinks lead to another host name', async () => {
    const report = await runAgainst({ broken: ['nextlink-other-origin'], auth: false }, 'observe');
    assert.deepEqual(red(report), ['odata-4.01/nextlink-same-origin']);
  });

  it('observe: the token endpoint gives no token_type', async () => {
    const server = await startBreakableServer({ broken: ['token-without-type'] });
    try {
      const report = await runConformance({ ...quick, url: server.url, ...server.client });
      assert.deepEqual(red(report), ['core-2.0.0/client-credentials']);
    } finally {
      await server.close();
    }
  });

  it('observe: plain http where https is demanded', async () => {
    const report = await runAgainst({}, 'observe', { requireHttps: true });
    assert.deepEqual(red(report), ['core-2.0.0/https']);
  });

  it('observe: TLS 1.1 is still spoken', async () => {
    const old = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const report = await runAgainst({ tls: { ...selfSigned(), ...old } }, 'observe');
    assert.deepEqual(red(report), ['core-2.1.0/tls-1.2']);
  });
});

describe('the table of faults', () => {
  it('has a fault for every rule', () => {
    const shown = new Set([...brokenCases.flatMap(each => each.red), ...shownBelow.keys()]);
    assert.deepEqual(
      rules.map(rule => rule.id).filter(id => !shown.has(id)),
      [],
    );
  });

  it('uses every switch', () => {
    const used = new Set<string | undefined>([
      ...brokenCases.map(each => each.broken),
      ...shownBelow.values(),
    ]);
    assert.deepEqual(
      Object.keys(switches).filter(name => !used.has(name)),
      [],
    );
  });
});
