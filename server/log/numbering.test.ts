import assert from 'node:assert/strict';
import fc from 'fast-check';
import { dense, maxSequence, type Numbering, snowflake } from './index.ts';

/** What `snowflake-id` is asked for stands still, and moves only by `tick`. */
function fakeClock(startMs: number): { tick(ms: number): void } {
  const real = Date.now;
  let nowMs = startMs;
  let reads = 0;
  Date.now = () => {
    // Whoever waits for a clock that stands still would wait for ever.
    if (++reads > 1_000_000) throw new Error('the clock is read without end');
    return nowMs;
  };
  restore = () => {
    Date.now = real;
  };
  return {
    tick: ms => {
      nowMs += ms;
    },
  };
}
let restore: () => void = () => undefined;

/** The first numbers of `batches` batches of `size` each. */
function firsts(numbering: Numbering, batches: number, size = 1n, from = 0n): bigint[] {
  const found: bigint[] = [];
  for (let last = from; found.length < batches; last = (found.at(-1) ?? 0n) + size - 1n) {
    found.push(numbering(last));
  }
  return found;
}

function assertRising(numbers: readonly bigint[]): void {
  for (const [n, number] of numbers.entries()) {
    const before = numbers[n - 1] ?? -1n;
    assert.ok(number > before, `${number} after ${before}`);
  }
}

describe('numbering', () => {
  const noon = Date.UTC(2026, 5, 1, 12);

  afterEach(() => restore());

  it('is dense by default', () => {
    assert.deepEqual(firsts(dense, 4, 10n), [1n, 11n, 21n, 31n]);
  });

  it('fails clearly at the end of Int64', () => {
    for (const numbering of [dense, snowflake(1), snowflake(1, () => maxSequence)]) {
      assert.equal(numbering(maxSequence - 1n), maxSequence);
      assert.throws(() => numbering(maxSequence), { code: 'EE-900', message: /Int64/ });
    }
  });

  it('rises whatever candidates the clock gives', () => {
    const candidate = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 62n });
    fc.assert(
      fc.property(
        fc.array(candidate),
        fc.bigInt({ min: 1n, max: 10_000n }),
        fc.bigInt({ min: 0n, max: 2n ** 62n }),
        (candidates, size, head) => {
          const numbers = firsts(
            snowflake(1, () => candidates.shift() ?? 0n),
            candidates.length,
            size,
            head,
          );
          assertRising([head, ...numbers]);
        },
      ),
    );
  });

  it('gives snowflakes of the present millisecond, in Int64', () => {
    const clock = fakeClock(noon);
    const numbering = snowflake(5);
    const first = numbering(0n);
    clock.tick(1_000);
    const second = numbering(first);
    assert.equal((second >> 22n) - (first >> 22n), 1_000n);
    assert.ok(second < maxSequence);
  });

  it('gives 10,000 rising numbers while the clock stands still', () => {
    fakeClock(noon);
    assertRising(firsts(snowflake(1), 10_000));
  });

  it('gives 10,000 rising numbers while the clock creeps, a millisecond every 5,000 batches', () => {
    const clock = fakeClock(noon);
    const numbering = snowflake(1);
    let batches = 0;
    assertRising(
      firsts(last => {
        if (++batches % 5_000 === 0) clock.tick(1);
        return numbering(last);
      }, 10_000),
    );
  });

  it('goes on rising when the clock is turned back an hour, and when two machines take turns', () => {
    const clock = fakeClock(noon);
    const [one, other] = [snowflake(1), snowflake(900)];
    const before = firsts(one, 100, 50n);
    clock.tick(-3_600_000);
    const after = firsts(other, 100, 50n, before.at(-1));
    clock.tick(1);
    assertRising([...before, ...after, ...firsts(one, 100, 50n, after.at(-1))]);
  });

  it('numbers on where the clock shows a time before snowflakes began', () => {
    fakeClock(0);
    assert.deepEqual(firsts(snowflake(1), 3, 1n, 41n), [42n, 43n, 44n]);
  });
});
