import type { ResourceConfig } from '../base/config/index.ts';
import { PulsefeedError } from '../base/errors.ts';

/** What one feed shows of one resource, as the configuration writes it. */
export type FeedRuleConfig = true | string | { readonly inherit: string; readonly where?: string };

/** Feed name -> ResourceName or `*` -> rule. A resource without a rule is not in the feed. */
export type FeedsConfig = Readonly<Record<string, Readonly<Record<string, FeedRuleConfig>>>>;

/** One rule, `*` and shorthand resolved. */
export interface FeedRule {
  readonly feed: string;
  readonly resource: string;
  /** The record's own condition as `$filter` text; undefined: every record. */
  readonly where: string | undefined;
  /** ResourceName of the parent that must be visible, and its 1-based position among the resource's parents. */
  readonly follows: { readonly resource: string; readonly slot: number } | undefined;
}

/** Spells out every rule. @throws EE-203 with one detail for each rule that names what is not configured. */
export function feedRules(feeds: FeedsConfig, resources: readonly ResourceConfig[]): FeedRule[] {
  const faults: string[] = [];
  const rules = Object.entries(feeds).flatMap(([feed, byResource]) => {
    for (const name of Object.keys(byResource)) {
      if (name !== '*' && !resources.some(resource => resource.name === name)) {
        faults.push(`feed ${feed}: ${name} is not a configured resource`);
      }
    }
    return resources.flatMap(resource => {
      const rule = byResource[resource.name] ?? byResource['*'];
      return rule === undefined ? [] : [spellOut(feed, resource, rule, faults)];
    });
  });
  if (faults.length > 0) throw invalidRules(faults);
  return rules;
}

function spellOut(feed: string, resource: ResourceConfig, rule: FeedRuleConfig, faults: string[]): FeedRule {
  const base = { feed, resource: resource.name };
  if (rule === true) return { ...base, where: undefined, follows: undefined };
  if (typeof rule === 'string') return { ...base, where: rule, follows: undefined };
  const index = (resource.parents ?? []).findIndex(parent => parent.resource === rule.inherit);
  if (index === -1) faults.push(`feed ${feed}: ${rule.inherit} is not a parent of ${resource.name}`);
  if (rule.inherit === resource.name)
    faults.push(`feed ${feed}: ${resource.name} cannot inherit from itself`);
  if (index > 2)
    faults.push(`feed ${feed}: only the first three parents of ${resource.name} can be inherited from`);
  return { ...base, where: rule.where, follows: { resource: rule.inherit, slot: index + 1 } };
}

/** @returns EE-203 that lists every fault. */
export function invalidRules(faults: readonly string[]): PulsefeedError {
  return new PulsefeedError('EE-203', `The visibility rules have faults:\n  ${faults.join('\n  ')}`, {
    details: faults.map(message => ({ code: 'EE-203' as const, message })),
  });
}
