import { closeSync, openSync, writeSync } from 'node:fs';
import { PulsefeedError } from '../server/base/errors.ts';

/** Where in a file, counted from 1: columns in UTF-16 units as editors show them. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** One record of a file that cannot be used, and why. */
export interface InputFault extends Place {
  readonly file: string;
  readonly message: string;
}

/** `file:line:column: message`, which terminals and editors make a link of. */
export function faultText(fault: InputFault): string {
  return `${fault.file}:${fault.line}:${fault.column}: ${fault.message}`;
}

/** Faults that are kept and shown; the others are counted, and written to the file for them if there is one. */
export const shownFaults = 20;

/** How much of a bad record goes into the file for them. */
const mostRecordChars = 10_000;

/**
 * Collects the faults of one file: counts all, keeps the first, writes each to `badFile` as it comes, one JSON object
 * a line. States: open -> closed.
 */
export class FaultList {
  readonly #first: InputFault[] = [];
  #count = 0;
  readonly #file: string;
  readonly #badFile: number | undefined;

  constructor(file: string, badFile?: string) {
    this.#file = file;
    this.#badFile = badFile === undefined ? undefined : openSync(badFile, 'w');
  }

  get count(): number {
    return this.#count;
  }

  /** In the order of the file; they are found a batch at a time, first broken records and then unusable values. */
  get first(): InputFault[] {
    return this.#first.toSorted((a, b) => a.line - b.line || a.column - b.column);
  }

  /** @param record the text of the record as it stands in the file, as far as it could be read. */
  add(place: Place, message: string, record = ''): void {
    this.#count += 1;
    const fault = { file: this.#file, line: place.line, column: place.column, message };
    if (this.#first.length < shownFaults) this.#first.push(fault);
    if (this.#badFile !== undefined) {
      writeSync(this.#badFile, `${JSON.stringify({ ...fault, record: record.slice(0, mostRecordChars) })}\n`);
    }
  }

  close(): void {
    if (this.#badFile !== undefined) closeSync(this.#badFile);
  }

  /** All faults as one error. */
  toError(): PulsefeedError {
    const { first } = this;
    const more = this.#count - first.length;
    const lines = first.map(faultText);
    if (more > 0) lines.push(`and ${more} more`);
    return new PulsefeedError('EE-706', `Nothing was written.\n${lines.join('\n')}`, {
      details: first.map(fault => ({ code: 'EE-706' as const, message: faultText(fault) })),
    });
  }
}
