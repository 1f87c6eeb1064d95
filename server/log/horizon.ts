import { PulsefeedError } from '../base/errors.ts';

/** Where a reader stands when it asks for a page. */
export interface Standing {
  /** It has been served, or claims to have been, up to this number. */
  readonly at: bigint;
  /** Where its walk began: 0 for one that initialises and holds nothing from before. */
  readonly origin: bigint;
  /** What its own signed token says: the epoch, the head when its walk began, and the highest number that it names. */
  readonly token?: { readonly epoch: number; readonly head: bigint; readonly told: bigint };
}

/** What the page's own snapshot says of a reader's place. */
export interface PlaceInLog {
  /** The gap that the reader stands in. */
  readonly gap: { readonly lostAfter: bigint; readonly lostTo: bigint } | undefined;
  /** The last number up to which removals were dropped from a feed that the reader holds; 0 when none was. */
  readonly horizon: bigint;
}

/**
 * Refuses a question whose answer would leave the reader with a wrong copy. Inside a gap it holds changes that were
 * undone. Below the horizon it may hold records whose removal is not told any more, unless it began with nothing after
 * all those removals were numbered: then each fetch it made met them.
 * @throws EE-105 saying how to start again.
 */
export function refuseLost({ gap, horizon }: PlaceInLog, standing: Standing): void {
  const target = standing.token === undefined ? '$filter' : '$skiptoken';
  if (gap !== undefined) {
    throw new PulsefeedError(
      'EE-105',
      `Numbers ${gap.lostAfter + 1n} to ${gap.lostTo} were lost when the database was restored or failed over; what was told of them may have been undone. ${startAgain}`,
      { target },
    );
  }
  const { at, origin, token } = standing;
  if (at >= horizon) return;
  const fresh = origin === 0n && (token === undefined || token.head >= horizon);
  if (fresh) return;
  throw new PulsefeedError(
    'EE-105',
    `Removals up to number ${horizon} are not kept any more, and ${token === undefined ? `${at} is before that` : 'this walk began before that'}. ${startAgain}`,
    { target },
  );
}

const startAgain =
  'Start again with $filter=EntityEventSequence ge 0, follow each nextLink to the end, and delete every record of your copy that the walk does not name.';
