/**
 * Something about the source that was tolerated and that its operator or the user may want to know.
 *
 * - `retry`, `throttled`: a passing failure.
 * - `no-next-link`: the source pages without nextLink; `gt <last>` is used.
 * - `link-not-followed`: a nextLink was refused by the source, repeats itself or leads elsewhere; `gt <last>` is used instead.
 * - `empty-page`: a page without pulses that has a nextLink.
 * - `repeated-pulse`: pulses came again.
 * - `unordered-page`: a page was not ascending.
 * - `small-pages`: the source ignores `maxpagesize`; `$top` is used.
 * - `quoted-number`: EntityEventSequence comes as a string.
 * - `batch-refused`: a way of asking for several records was refused; another is used from now on.
 * - `batch-omits`: a batch answer left out a record that exists.
 * - `key-path-unreliable`: `Resource('key')` did not find a record that `$filter` finds.
 * - `unasked-record`: an answer held records that were not asked for.
 * - `unknown-resource`: pulses name a resource that `$metadata` lacks; they are passed over.
 * - `reinitialise`: the walk starts again from the beginning; `cannot-sweep`: the store cannot list what was not met again.
 * - `unmet-record`: a record exists at the source though the log has no pulse of it.
 * - `epoch`: the source was restored or failed over since the last page.
 * - `waiting`: records that wait for a parent.
 * - `source-failing`: following goes on although the source has failed for long.
 */
export interface Notice {
  readonly code: string;
  readonly message: string;
}

/** Takes a notice. Must not throw. */
export type Notify = (notice: Notice) => void;
