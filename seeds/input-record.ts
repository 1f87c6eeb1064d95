import type { Place } from './input-fault.ts';

/** Text as it stands in the file; null where the field is empty, undefined where the record has no such field. */
export type FieldValue = string | null | undefined;

/** One record of a file, cut down to the fields that were asked for. */
export interface InputRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** The record as it stands in the file. */
  readonly text: string;
  /** In the order in which the fields were asked for. */
  readonly values: readonly FieldValue[];
  /** Where the value of one of these fields stands. */
  readonly place: (field: number) => Place;
}

/** The fields that are wanted of a file, by name. */
export interface WantedFields {
  /** Without these the file cannot be used. */
  readonly required: readonly string[];
  /** Taken where they are there. */
  readonly optional: readonly string[];
}

/** Fields in the order in which the values of a record come. */
export function fieldNames(wanted: WantedFields): string[] {
  return [...new Set([...wanted.required, ...wanted.optional])];
}
