import { PulsefeedError } from '../server/base/errors.ts';
import type { RetireLag } from '../server/log/index.ts';

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/**
 * Reads `0`, `10000 events`, `7d` (units s, m, h, d) or `off`, which is undefined.
 * @throws EE-700 for anything else.
 */
export function parseLag(text: string): RetireLag | undefined {
  if (text === 'off') return undefined;
  if (text === '0') return { events: 0n };
  const [, events, count, unit] = /^(?:([1-9]\d{0,11}) events|([1-9]\d{0,5})([smhd]))$/.exec(text) ?? [];
  if (events !== undefined) return { events: BigInt(events) };
  const seconds = secondsOf[unit ?? ''];
  if (seconds === undefined) {
    throw new PulsefeedError('EE-700', `A lag is 0, '10000 events', 7d (s, m, h, d) or off, not '${text}'.`);
  }
  return { seconds: Number(count) * seconds };
}
