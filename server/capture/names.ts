import { createHash } from 'node:crypto';

/** PostgreSQL cuts longer identifiers off, which could make two names one. */
const maxIdentifier = 63;

/** The names of what capture installs for one resource. */
export interface CaptureNames {
  /** Trigger function in schema pulsefeed. */
  readonly fn: string;
  /** Row trigger for insert, update and delete. */
  readonly row: string;
  /** Statement trigger for truncate. */
  readonly truncate: string;
}

/** Beginnings of the names, by which leftovers of resources that are no longer configured are found. */
export const prefixes = {
  fn: 'capture_',
  row: 'pulsefeed_capture_',
  truncate: 'pulsefeed_truncate_',
} as const;

/** Names are made from the resource, so that two resources may share a table. */
export function captureNames(resource: string): CaptureNames {
  return {
    fn: fitted(prefixes.fn, resource),
    row: fitted(prefixes.row, resource),
    truncate: fitted(prefixes.truncate, resource),
  };
}

function fitted(prefix: string, resource: string): string {
  const name = `${prefix}${resource}`;
  if (Buffer.byteLength(name) <= maxIdentifier) return name;
  const digest = createHash('sha256').update(resource).digest('hex').slice(0, 12);
  return `${prefix}${resource.slice(0, maxIdentifier - prefix.length - digest.length - 1)}_${digest}`;
}
