const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/**
 * How long pulses of deleted and hidden records are kept, in seconds; undefined for `forever`. The text has passed the
 * setting's pattern.
 */
export function parseTombstones(text: string): number | undefined {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) return undefined;
  return Number(count) * unitSeconds[unit as keyof typeof unitSeconds];
}

/** What a server that drops says when it starts. */
export function tombstonesNotice(text: string): string {
  return (
    `Removals are kept for ${text} (setting tombstones): initialising goes by nextLink only, and a consumer that computes ` +
    '`gt N` itself and stands below what was dropped is answered 410.'
  );
}
