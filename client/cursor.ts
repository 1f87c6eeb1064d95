import { ReplicationError } from './replication-error.ts';
import type { RecordRef } from './store.ts';

/** Where a copy stands; saved in the store as text, together with the records. */
export interface Cursor {
  /** The service root the copy was made from. */
  readonly source: string;
  /** The resources kept: all that were asked for and known when the walk began. */
  readonly resources: readonly string[];
  /** Every pulse up to here is done; undefined before the first. */
  readonly last: bigint | undefined;
  /** Counts the walks from the beginning, from 1. */
  readonly generation: number;
  /** A walk from the beginning is under way; after `again` the records it did not meet are looked at. */
  readonly walk: 'first' | 'again' | 'done';
  readonly epoch: string | undefined;
  /** Records that wait for a parent. */
  readonly waiting: readonly RecordRef[];
}

/** The cursor of a new copy. */
export function newCursor(source: string, resources: readonly string[]): Cursor {
  return { source, resources, last: undefined, generation: 1, walk: 'first', epoch: undefined, waiting: [] };
}

/** The cursor that begins a walk from the beginning over an existing copy. */
export function restarted(cursor: Cursor): Cursor {
  return { ...cursor, last: undefined, generation: cursor.generation + 1, walk: 'again' };
}

/** Writes a cursor as text. */
export function encodeCursor(cursor: Cursor): string {
  const { last, waiting, ...rest } = cursor;
  return JSON.stringify({
    version: 1,
    last: last === undefined ? null : last.toString(),
    ...rest,
    ...(waiting.length > 0 && { waiting: waiting.map(({ resource, key }) => [resource, key]) }),
  });
}

/** Reads a cursor. @throws ReplicationError `store` when the text was not written by `encodeCursor`. */
export function decodeCursor(text: string): Cursor {
  try {
    const raw = JSON.parse(text) as Record<string, unknown>;
    if (raw.version !== 1 || typeof raw.source !== 'string') throw new Error('unknown version');
    const waiting = (raw.waiting ?? []) as [string, string][];
    return {
      source: raw.source,
      resources: raw.resources as string[],
      last: typeof raw.last === 'string' ? BigInt(raw.last) : undefined,
      generation: Number(raw.generation),
      walk: raw.walk as Cursor['walk'],
      epoch: raw.epoch as string | undefined,
      waiting: waiting.map(([resource, key]) => ({ resource, key })),
    };
  } catch (cause) {
    throw new ReplicationError('store', `The cursor in the copy cannot be read: ${text.slice(0, 200)}`, {
      cause,
    });
  }
}
