export { anonymousConsumer, showToAnonymous } from './anonymous.ts';
export {
  addConsumer,
  type Consumer,
  type ConsumerAttributes,
  type ConsumerChange,
  changeConsumer,
  listConsumers,
  type NewConsumer,
  readConsumer,
} from './consumers.ts';
export { type Explanation, explain } from './explain.ts';
export type { FeedRuleConfig, FeedsConfig } from './feed-config.ts';
export { type Applied, applyFeeds } from './feeds.ts';
export { type FeedPlan, planFeeds } from './plan-feeds.ts';
export { type Allowed, type AllowedMany, VisibilityPolicy } from './policy.ts';
export { recordSources } from './record-sources.ts';
export { type ActiveRules, RuleBook } from './rule-book.ts';
export type { RowsMet } from './rule-sql.ts';
export {
  addToken,
  consumerByClient,
  consumerByName,
  consumerByToken,
  type KnownConsumer,
  rotateSecret,
  setDisabled,
} from './tokens.ts';
export { WalkLoop } from './walk-loop.ts';
export { currentWalk, stepWalk, type Walk, type WalkOptions, type WalkStep } from './walks.ts';
