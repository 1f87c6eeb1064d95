/**
 * The highest number that a process has seen of its log. The head never falls, so a statement that began later and
 * shows a lower head proves that the database lost something.
 */
export interface HeadMemory {
  readonly highest: bigint;
  /** Takes a head that a committed snapshot showed. */
  note(head: bigint): void;
}

/** A memory that has seen nothing yet. */
export function createHeadMemory(): HeadMemory {
  let highest = 0n;
  return {
    get highest() {
      return highest;
    },
    note(head) {
      if (head > highest) highest = head;
    },
  };
}
