import { createHash } from 'node:crypto';
import type { Db, Queryable } from '../base/db/index.ts';

/** What numbers are handed out under: the resources, and the feeds' rules where there are feeds. */
export interface RuleSet {
  readonly resources: readonly unknown[];
  readonly feeds?: unknown;
}

/** A digest that two processes with the same resources share, whatever the order of object members. */
export function digestOf({ resources }: Pick<RuleSet, 'resources'>): string {
  return createHash('sha256').update(canonical({ resources })).digest('hex');
}

/** The version in force and its rules, read under the head lock, which the transaction then holds. */
export async function lockRules(
  tx: Queryable,
): Promise<{ version: number; digest: string | null; feeds: unknown }> {
  // Two statements: a join beside `for update` would see the head as it is after the wait and the rules as before it.
  await tx.query({ text: 'select from pulsefeed.log_head for update' });
  const [row] = await tx.query<{ version: number; digest: string | null; feeds: unknown }>({
    text: `
select h.rule_version as version, r.digest, r.document -> 'feeds' as feeds
from pulsefeed.log_head h
left join pulsefeed.rule_set r on r.version = h.rule_version`,
  });
  return row ?? { version: 0, digest: null, feeds: null };
}

/** Makes `rules` the version after `version`. The caller's transaction holds the head lock (RULESET). */
export async function writeRules(tx: Queryable, version: number, rules: RuleSet): Promise<number> {
  await tx.query({
    text: `insert into pulsefeed.rule_set (version, digest, document) values ($1, $2, $3)`,
    values: [version + 1, digestOf(rules), canonical(rules)],
  });
  await tx.query({
    text: `update pulsefeed.log_head set rule_version = $1, writer = pg_current_xact_id()`,
    values: [version + 1],
  });
  return version + 1;
}

/**
 * Makes these resources the current ones; feeds stay as they are. Returns whether anything changed. Processes that
 * run with other resources stop numbering at once.
 */
export async function publishRules(db: Db, { resources }: Pick<RuleSet, 'resources'>): Promise<boolean> {
  return db.transaction(async tx => {
    const { version, digest, feeds } = await lockRules(tx);
    if (digest === digestOf({ resources })) return false;
    await writeRules(tx, version, feeds == null ? { resources } : { resources, feeds });
    return true;
  });
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
