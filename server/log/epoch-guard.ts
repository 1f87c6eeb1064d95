import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { openEpochIfLost } from './epoch.ts';
import type { HeadMemory } from './epoch-memory.ts';
import { refuseLost, type Standing } from './horizon.ts';
import type { Numbering } from './numbering.ts';
import type { ReadPage, ReadQuery } from './read.ts';

type Read = (query: ReadQuery) => Promise<ReadPage>;

/**
 * Reads pages, and none from a log that lost numbers: a head below one that this process or a signed token has seen,
 * or a head that was restored. An epoch is then opened under the head lock, where the proof is looked at again, and the
 * page is read anew. What was seen is noted before the statement begins, so that two reads at once do not look like
 * a loss.
 */
export function guardReader(
  read: Read,
  { db, numbering, memory }: { db: Pick<Db, 'transaction'>; numbering: Numbering; memory: HeadMemory },
): Read {
  return async query => {
    const { standing } = query;
    const seen = memory.highest;
    let page = await read(query);
    const proof = proofOf(page, seen, standing);
    if (proof !== undefined) {
      await openEpochIfLost(db, numbering, proof.seen, proof.kind).catch((error: unknown) => {
        throw new PulsefeedError(
          'EE-303',
          'The database lost numbers, and no new epoch could be opened yet.',
          {
            cause: error,
          },
        );
      });
      page = await read(query);
    }
    memory.note(page.head);
    if (standing !== undefined) refuseLost(page.place, standing);
    return page;
  };
}

interface Proof {
  readonly kind: 'token' | 'head fell';
  readonly seen: { readonly head: bigint; readonly epoch: number };
}

function proofOf(page: ReadPage, seen: bigint, standing: Standing | undefined): Proof | undefined {
  const token = standing?.token;
  const told = token?.told ?? 0n;
  const epoch = token?.epoch ?? 0;
  if (told > page.head || epoch > page.epoch) {
    return { kind: 'token', seen: { head: told > seen ? told : seen, epoch } };
  }
  if (page.intact && page.head >= seen) return undefined;
  return { kind: 'head fell', seen: { head: seen, epoch: 0 } };
}
