/** What `Prefer` asks for, as far as this service honours it; everything else is ignored (Protocol 8.2.8). */
export interface Preferences {
  readonly maxPageSize: number | undefined;
  readonly omitNulls: boolean;
  readonly trackChanges: boolean;
  readonly includeAnnotations: boolean;
  readonly continueOnError: boolean | undefined;
  readonly returns: 'minimal' | 'representation' | undefined;
  /** Seconds to wait for news at the head (RFC 7240). */
  readonly wait: number | undefined;
}

/** Reads the header; of a preference given twice the first counts, and names without `odata.` go before those with. */
export function parsePreferences(header: string | undefined): Preferences {
  const given = new Map<string, string>();
  for (const match of (header ?? '').matchAll(
    /([^\s,;="]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s,;]+))?[^,]*,?/g,
  )) {
    const name = (match[1] ?? '').toLowerCase();
    if (!given.has(name)) given.set(name, (match[2] ?? '').replace(/^"(.*)"$/s, '$1'));
  }
  const value = (name: string) => given.get(name) ?? given.get(`odata.${name}`);
  const page = positiveInteger(value('maxpagesize'));
  const returns = value('return');
  const continueOnError = value('continue-on-error');
  return {
    maxPageSize: page,
    omitNulls: value('omit-values')?.toLowerCase() === 'nulls',
    trackChanges: value('track-changes') !== undefined,
    includeAnnotations: includesOurs(value('include-annotations')),
    continueOnError: continueOnError === undefined ? undefined : continueOnError.toLowerCase() !== 'false',
    returns: returns === 'minimal' || returns === 'representation' ? returns : undefined,
    wait: positiveInteger(value('wait')),
  };
}

/** The terms of the instance annotations that there are. */
const terms = ['pulsefeed.head', 'pulsefeed.scannedTo', 'pulsefeed.epoch'];

/**
 * A list of patterns such as `*`, `pulsefeed.*` or `-display.*`; the most specific that fits decides. Ours come
 * together and without qualifier: a pattern for one of them asks for all.
 */
function includesOurs(patterns: string | undefined): boolean {
  let included = false;
  let specificity = -1;
  for (const raw of (patterns ?? '').split(',')) {
    const pattern = raw.trim();
    const excluded = pattern.startsWith('-');
    const name = excluded ? pattern.slice(1) : pattern;
    const fits = name === '*' || name === 'pulsefeed.*' || terms.includes(name);
    if (fits && name.length > specificity) {
      included = !excluded;
      specificity = name.length;
    }
  }
  return included;
}

function positiveInteger(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  const number = Number(text);
  return number > 0 ? number : undefined;
}
