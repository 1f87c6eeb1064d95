import { createHash } from 'node:crypto';
import type { Db } from '../base/db/index.ts';

/** What numbers are handed out under; published by `migrate`, compared by every sequencer. */
export interface RuleSet {
  readonly resources: readonly unknown[];
}

/** A digest that two processes with the same rules share, whatever the order of object members. */
export function digestOf(rules: RuleSet): string {
  return createHash('sha256').update(canonical(rules)).digest('hex');
}

/**
 * Makes `rules` the current version, under the head lock. Returns whether anything changed. Processes that run with
 * other rules stop numbering at once (RULESET).
 */
export async function publishRules(db: Db, rules: RuleSet): Promise<boolean> {
  const digest = digestOf(rules);
  return db.transaction(async tx => {
    const [current] = await tx.query<{ version: number; digest: string | null }>({
      text: `
select h.rule_version as version, r.digest
from pulsefeed.log_head h
left join pulsefeed.rule_set r on r.version = h.rule_version
for update of h`,
    });
    if (current === undefined || current.digest === digest) return false;
    await tx.query({
      text: `insert into pulsefeed.rule_set (version, digest, document) values ($1, $2, $3)`,
      values: [current.version + 1, digest, canonical(rules)],
    });
    await tx.query({
      text: `update pulsefeed.log_head set rule_version = $1, writer = pg_current_xact_id()`,
      values: [current.version + 1],
    });
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
