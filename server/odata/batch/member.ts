/** One request of a batch, as the client wrote it, whatever the format. */
export interface BatchMember {
  /** `id` in JSON, `Content-ID` in multipart, where it may be missing. */
  readonly id: string | undefined;
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Ids of requests and groups that must have succeeded before. */
  readonly dependsOn: readonly string[];
  /** Members of one group stand together and succeed or fail together. */
  readonly group: string | undefined;
  /** JSON only: the condition on which the request is to be run. */
  readonly condition: boolean;
}

/** A batch taken apart. */
export interface Batch {
  readonly format: 'json' | 'multipart';
  readonly members: readonly BatchMember[];
}

/** The answer to one member. */
export interface MemberAnswer {
  readonly id: string | undefined;
  readonly group: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Bounds of one batch. */
export interface BatchLimits {
  /** Requests; beyond it 400. */
  readonly members: number;
  /** UTF-16 units of all answers together; what comes after them is refused one by one. */
  readonly answerLength: number;
}

/**
 * 100 requests, as the common clients split their batches; 64 million characters are some 80 full pages, held in
 * memory until the batch is done.
 */
export const defaultBatchLimits: BatchLimits = { members: 100, answerLength: 64_000_000 };
