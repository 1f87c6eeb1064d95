/** A file of records and how they are to be read. */
export interface FileSource {
  /** CSV, or JSON lines when it ends in .ndjson or .jsonl; compressed when it ends in .gz. */
  readonly path: string;
  /** The ResourceName of its records. */
  readonly resource: string;
  /** The columns that make the key, in their order. */
  readonly key: readonly string[];
  /** Stands between the parts of a key of several columns. */
  readonly keySeparator?: string;
  /** The column with the time of the last change. */
  readonly modified?: string;
  /** A pattern as `datePattern` takes it; ISO 8601 when absent. */
  readonly modifiedFormat?: string;
  /** The configured table of the resource, to load the records into it as well. */
  readonly load?: string;
}

/** Needs no escaping in a URL, and hardly occurs in addresses and names. */
export const defaultKeySeparator = '~';
