export { recordSources } from './record-sources.ts';
export { type ActiveRules, RuleBook } from './rule-book.ts';
