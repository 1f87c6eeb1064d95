import { FIRST_DAY, LAST_DAY, PICOSECONDS } from './calendar.ts';

const DAY = 86_400n * PICOSECONDS;

/** What `mindatetime()` is: 0001-01-01T00:00:00Z, in picoseconds since 1970. */
export const EARLIEST_INSTANT = BigInt(FIRST_DAY) * DAY;
/** What `maxdatetime()` is: 9999-12-31T23:59:59.999999Z, the last microsecond served. */
export const LATEST_INSTANT = BigInt(LAST_DAY + 1) * DAY - 1_000_000n;

/** What `trim` removes: the characters with Unicode's property White_Space. */
export const WHITE_SPACE =
  '\t\n\u000b\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';
