import type { ResourceTable } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { digestOf, type SourceSet } from '../log/index.ts';
import { type CompiledRule, compileFeeds } from './compile-rules.ts';
import type { FeedsConfig } from './feed-config.ts';
import { everyone, recordSources } from './record-sources.ts';
import { type FeedIds, type RowsMet, seenByNobody, servedSql } from './rule-sql.ts';

/** The rules of one version, compiled. */
export interface ActiveRules extends SourceSet {
  /** False while the log belongs to everyone. */
  readonly feedsConfigured: boolean;
  readonly feeds: FeedsConfig;
  readonly rules: readonly CompiledRule[];
  readonly ids: ReadonlyMap<string, FeedIds>;
  /**
   * SQL over a row of the resource's table, of the quoted alias given or else of `t`: may whoever holds `held` (SQL
   * `integer[]`) see it?
   */
  readonly served: (resource: string, held: string, alias?: string, met?: RowsMet) => string;
}

/**
 * The rules as the database has them now (RULESET). States: empty -> holding one version; `refresh` replaces it when
 * the database has moved on. Whoever reads compares the version in his own statement with the one he compiled for.
 */
export class RuleBook {
  readonly #db: Db;
  readonly #resources: readonly ResourceConfig[];
  readonly #tables: readonly ResourceTable[];
  #active: ActiveRules | undefined;

  constructor(db: Db, resources: readonly ResourceConfig[], tables: readonly ResourceTable[]) {
    this.#db = db;
    this.#resources = resources;
    this.#tables = tables;
  }

  /** The version in hand, loaded if there is none. @throws EE-301 as `refresh`. */
  async current(): Promise<ActiveRules> {
    return this.#active ?? this.refresh();
  }

  /** Loads the current version. @throws EE-301 when the log was set up with other resources than this process. */
  async refresh(): Promise<ActiveRules> {
    const active = await this.load();
    if (active === undefined) {
      throw new PulsefeedError(
        'EE-301',
        'The log was set up with other resources than this process was started with.',
      );
    }
    return active;
  }

  /** As `refresh`, but undefined when the resources differ: for the sequencer, which then stands still. */
  async load(): Promise<ActiveRules | undefined> {
    const [row] = await this.#db.query<{ version: number; digest: string; feeds: FeedsConfig | null }>({
      text: `
select r.version, r.digest, r.document -> 'feeds' as feeds
from pulsefeed.log_head h
join pulsefeed.rule_set r on r.version = h.rule_version`,
    });
    if (row === undefined || row.digest !== digestOf({ resources: this.#resources })) return undefined;
    const feeds = row.feeds ?? everyone;
    const { rules } = compileFeeds(feeds, this.#resources, this.#tables);
    const ids = await this.#feedIds();
    const sources = recordSources(this.#resources, this.#tables, rules, ids);
    this.#active = {
      version: row.version,
      sources,
      unstated: row.feeds === null ? `'{1}'::integer[]` : `'{}'::integer[]`,
      feedsConfigured: row.feeds !== null,
      feeds,
      rules,
      ids,
      served: (resource, held, alias, met) => this.#served(resource, held, rules, ids, alias, met),
    };
    return this.#active;
  }

  async #feedIds(): Promise<Map<string, FeedIds>> {
    const rows = await this.#db.query<{ name: string; definition: number; feed: number | null }>({
      text: `
select d.name, d.id as definition, f.id as feed
from pulsefeed.feed_definition d
left join pulsefeed.feed f on f.definition_id = d.id and f.value is null`,
    });
    return new Map(rows.map(({ name, definition, feed }) => [name, { definition, feed: feed ?? undefined }]));
  }

  #served(
    resource: string,
    held: string,
    rules: readonly CompiledRule[],
    ids: ReadonlyMap<string, FeedIds>,
    alias?: string,
    met?: RowsMet,
  ): string {
    const table = this.#tables.find(({ config }) => config.name === resource);
    if (table === undefined) return seenByNobody(held);
    return servedSql(
      table,
      rules.filter(rule => rule.resource === resource),
      ids,
      held,
      alias,
      met,
    );
  }
}
