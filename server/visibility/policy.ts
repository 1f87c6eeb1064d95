import { requireScope, type Viewer } from '../base/auth/viewer.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { SqlFragment } from '../edm/index.ts';
import type { ActiveRules, RuleBook } from './rule-book.ts';
import type { RowsMet } from './rule-sql.ts';

/** What a reader was allowed under one version of the rules. */
export interface Allowed {
  readonly version: number;
  /**
   * SQL that yields the `feed_id` of each feed the viewer holds, resolved in the statement that reads; undefined
   * while the log belongs to everyone.
   */
  readonly held: (firstParameter: number) => SqlFragment | undefined;
  /** The condition under which a row of alias `t` of the resource's table may be seen. */
  readonly records: (resource: string, firstParameter: number) => SqlFragment;
  /**
   * The same condition for a row of any quoted alias, its values bound by whoever writes the statement: `bind` returns
   * the placeholder of a text; `met` says how many rows are tested, few unless told otherwise.
   */
  readonly recordsAs: (
    resource: string,
    alias: string,
    bind: (value: string) => string,
    met?: RowsMet,
  ) => string;
}

/** What several consumers were allowed under one version of the rules, for a statement that reads for all of them. */
export interface AllowedMany {
  /**
   * SQL that yields `(consumer_id, feed_id)` for each of these consumers that may read at all, resolved in the statement
   * that reads; the feed is null while the log belongs to everyone.
   */
  readonly holders: (
    firstParameter: number,
    consumerIds: readonly number[],
  ) => { readonly text: string; readonly values: readonly unknown[] };
  /** True while the log belongs to everyone: nothing is tested. */
  readonly everyone: boolean;
}

/** Why a result cannot be used: it was read under rules that are not current any more. */
const mostRetries = 5;

/**
 * The one place that says who may see what. Every reader of the log and of records goes through `read`: it hands out
 * what the viewer holds and takes the result back only if the statement ran under the same rules.
 */
export class VisibilityPolicy {
  readonly #rules: RuleBook;

  constructor(rules: RuleBook) {
    this.#rules = rules;
  }

  /**
   * Runs `reader`, whose statement must return the rule version it ran under; when that is not the one that `allowed`
   * was made for, the rules are loaded anew and the read is repeated.
   * @throws EE-200 for a viewer without identity once feeds are configured, EE-201 for one without the scope `read`.
   */
  async read<T>(
    viewer: Viewer,
    reader: (allowed: Allowed) => Promise<{ readonly ruleVersion: number; readonly result: T }>,
  ): Promise<T> {
    requireScope(viewer, 'read');
    return this.#underRules(rules => reader(allow(viewer, rules)));
  }

  /** As `read`, for one statement that serves several consumers and says itself which of them may see what. */
  async readMany<T>(
    reader: (allowed: AllowedMany) => Promise<{ readonly ruleVersion: number; readonly result: T }>,
  ): Promise<T> {
    return this.#underRules(rules => reader(allowMany(rules)));
  }

  async #underRules<T>(
    reader: (rules: ActiveRules) => Promise<{ readonly ruleVersion: number; readonly result: T }>,
  ): Promise<T> {
    let rules = await this.#rules.current();
    for (let attempt = 0; attempt < mostRetries; attempt += 1) {
      const { ruleVersion, result } = await reader(rules);
      if (ruleVersion === rules.version) return result;
      rules = await this.#rules.refresh();
    }
    throw new PulsefeedError(
      'EE-301',
      'The visibility rules change faster than they can be read; try again.',
    );
  }
}

function allowMany({ feedsConfigured }: ActiveRules): AllowedMany {
  const readers = (firstParameter: number) =>
    `pulsefeed.consumer c where c.id = any ($${firstParameter}::integer[]) and not c.disabled and 'read' = any (c.scopes)`;
  return {
    everyone: !feedsConfigured,
    holders: (firstParameter, consumerIds) => ({
      text: feedsConfigured
        ? `select cf.consumer_id, cf.feed_id from pulsefeed.consumer_feed cf where exists (
  select from ${readers(firstParameter)} and c.id = cf.consumer_id)`
        : `select c.id as consumer_id, null::integer as feed_id from ${readers(firstParameter)}`,
      values: [[...consumerIds]],
    }),
  };
}

function allow(viewer: Viewer, rules: ActiveRules): Allowed {
  if (!rules.feedsConfigured) {
    return {
      version: rules.version,
      held: () => undefined,
      records: resource => ({ text: rules.served(resource, `'{1}'::integer[]`), values: [] }),
      recordsAs: (resource, alias, _bind, met) => rules.served(resource, `'{1}'::integer[]`, alias, met),
    };
  }
  const { consumerId } = viewer;
  if (consumerId === undefined) {
    throw new PulsefeedError('EE-200', 'This feed is served to its consumers: send Authorization: Bearer.', {
      headers: { 'WWW-Authenticate': 'Bearer realm="pulsefeed"' },
    });
  }
  const heldBy = (placeholder: string) =>
    `select feed_id from pulsefeed.consumer_feed where consumer_id = ${placeholder}::text::integer`;
  const held = (firstParameter: number): SqlFragment => ({
    text: heldBy(`$${firstParameter}`),
    values: [String(consumerId)],
  });
  return {
    version: rules.version,
    held,
    records(resource, firstParameter) {
      const { text, values } = held(firstParameter);
      return { text: rules.served(resource, `array(${text})`), values };
    },
    recordsAs: (resource, alias, bind, met) =>
      rules.served(resource, `array(${heldBy(bind(String(consumerId)))})`, alias, met),
  };
}
