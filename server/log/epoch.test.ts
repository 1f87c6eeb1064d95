import assert from 'node:assert/strict';
import { lastPossibleNumber, lossOf, seenNothing, unknownServer } from './epoch.ts';
import { createHeadMemory } from './epoch-memory.ts';
import { maxSequence } from './sequence-number.ts';

const dense = (lastSeq: bigint, seconds: number, seen = 0n) =>
  lastPossibleNumber({ lastSeq, seconds, seen, next: lastSeq + 1n });

describe('the last number that can have been lost', () => {
  it('leaves time for a million numbers a second since the head was known', () => {
    assert.ok(dense(1_000n, 86_400) >= 1_000n + 86_400_000_000n);
  });

  it('lies far above the head even when the clock says that no time passed, or less', () => {
    for (const seconds of [0, -3_600]) assert.equal(dense(1_000n, seconds), 1_000n + (1n << 30n));
  });

  it('lies, in a second restore of the same backup, above all that was numbered since the first', () => {
    const first = dense(1_000n, 600);
    const numberedSince = 3_600n * 900_000n;
    assert.ok(dense(1_000n, 600 + 3_600) > first + 1n + numberedSince);
  });

  it('lies above every number that was seen', () => {
    assert.ok(dense(1_000n, 0, 5_000_000_000_000n) > 5_000_000_000_000n);
  });

  it('lies above what the clock has come to, for numbers that carry the time', () => {
    const next = 300_000_000_000_000_000n;
    assert.ok(lastPossibleNumber({ lastSeq: 1_000n, seconds: 5, seen: 0n, next }) > next);
  });

  it('leaves numbers exact in JavaScript after a year without a change', () => {
    assert.ok(dense(1_000_000_000n, 365 * 86_400) < 2n ** 53n / 200n);
  });

  it('is refused when no number would be left', () => {
    assert.throws(() => dense(maxSequence - 10n, 0), { code: 'EE-900' });
  });
});

describe('the proof of a loss', () => {
  const head = { last_seq: 100n, epoch: 2, intact: true, system_id: '7', timeline: 1 };
  const server = { systemId: '7', timeline: 1 };

  it('is none in a database that goes on, whoever asks', () => {
    for (const known of [server, unknownServer, { systemId: '7', timeline: undefined }]) {
      assert.equal(lossOf(head, known, { head: 100n, epoch: 2 }), undefined);
    }
    assert.equal(lossOf({ ...head, system_id: null, timeline: null }, server, seenNothing), undefined);
  });

  it('is a head that another transaction wrote, a lower head or epoch than was seen, another server', () => {
    assert.equal(lossOf({ ...head, intact: false }, server, seenNothing), 'restored');
    assert.equal(lossOf(head, server, { head: 101n, epoch: 0 }), 'head fell');
    assert.equal(lossOf(head, server, { head: 0n, epoch: 3 }), 'head fell');
    assert.equal(lossOf(head, { systemId: '8', timeline: 1 }, seenNothing), 'moved');
    assert.equal(lossOf(head, { systemId: '7', timeline: 2 }, seenNothing), 'moved');
  });
});

describe('what a process remembers of the head', () => {
  it('never falls', () => {
    const memory = createHeadMemory();
    for (const head of [5n, 9n, 7n]) memory.note(head);
    assert.equal(memory.highest, 9n);
  });
});
