import { existsSync, readFileSync } from 'node:fs';

/** Cases of the OData standard's own grammar tests, where that folder is beside the repository. */
const folder = new URL('../../../../shared/data/', import.meta.url);

/** One input of a rule of the grammar, and whether the rule takes it. */
export interface AbnfCase {
  readonly rule: string;
  readonly input: string;
  readonly valid: boolean;
  readonly area: string;
}

/**
 * A construct of the grammar that is outside of what this service serves: which inputs it is in, how the refusal
 * reads, and why.
 */
export interface RefusedConstruct {
  readonly construct: string;
  readonly why: string;
  readonly input: RegExp;
  readonly refusal: RegExp;
}

/** A file of that folder as a list; empty when there is none. */
export function sharedCases<T>(name: string): readonly T[] {
  const file = new URL(name, folder);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T[]) : [];
}

const OPTION_RULES =
  /^(?:filter|orderby|orderBy|expand|select|queryOptions|customQueryOption|systemQueryOption|compute|search)$/;

/**
 * The part of the service that would see the input, whose test therefore runs the case: options and expressions (edm),
 * the values of a body (records), and everything else of a request (odata).
 */
export function homeOf({ rule, area }: AbnfCase): 'expression' | 'payload' | 'request' {
  if (rule === 'booleanValue' || rule === 'primitiveValue') return 'payload';
  return OPTION_RULES.test(rule) || area === 'filter' || area === 'literal' ? 'expression' : 'request';
}
