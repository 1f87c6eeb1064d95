import type { Level } from './rule.ts';
import { rules } from './rules/index.ts';

/** One statement of a standard, in our own words, with its place in the document. */
type Clause = {
  id: string;
  level: Level;
  text: string;
  /** Why no rule can look at it over HTTP, or why none has to. Only for clauses without a rule. */
  unseen?: string;
};

/** The clauses of one document. */
export type Document = { id: string; title: string; clauses: readonly Clause[] };

const consumer = 'a duty of the consumer, not of the server that is judged';
const licence = 'a permission: a server that makes no use of it keeps the clause as well';

/** RCP-027, EntityEvent Resource and Replication Model. */
const rcp027: readonly Clause[] = [
  { id: 'RCP-027.1', level: 'MUST', text: 'A resource named EntityEvent is provided.' },
  { id: 'RCP-027.2', level: 'MUST', text: 'Each record has the three required fields, which identify it.' },
  { id: 'RCP-027.3', level: 'MUST', text: 'EntityEventSequence is in the positive part of int64.' },
  { id: 'RCP-027.4', level: 'MUST', text: 'ResourceName is a string, the well-known name of the resource.' },
  { id: 'RCP-027.5', level: 'MUST', text: 'ResourceRecordKey is a string.' },
  { id: 'RCP-027.6', level: 'MUST', text: 'The sequence is immutable and monotonic.' },
  {
    id: 'RCP-027.7',
    level: 'MUST',
    text: 'Numbers may be hidden only while a later record remains for the same resource and key.',
  },
  {
    id: 'RCP-027.8',
    level: 'MAY',
    text: 'The log holds all events, or those that the consumer may view.',
    unseen: licence,
  },
  { id: 'RCP-027.9', level: 'MUST', text: 'An event does not change who may see the record behind it.' },
  { id: 'RCP-027.10', level: 'MUST', text: 'Records are in the logical order in which they occurred.' },
  { id: 'RCP-027.11', level: 'MUST', text: 'The sequence is unique, always rises and never changes.' },
  {
    id: 'RCP-027.12',
    level: 'MUST',
    text: 'The same number gives the same ResourceName and ResourceRecordKey.',
  },
  {
    id: 'RCP-027.13',
    level: 'SHOULD',
    text: 'Events are ordered for referential integrity: parents before children.',
  },
  {
    id: 'RCP-027.14',
    level: 'MUST',
    text: 'gt N returns later events, ascending, gaps allowed, without $orderby.',
  },
  {
    id: 'RCP-027.15',
    level: 'MUST',
    text: 'ge 0 starts at the first event that the consumer has access to.',
  },
  { id: 'RCP-027.16', level: 'MUST', text: 'nextLink is present until all data has been returned.' },
  { id: 'RCP-027.17', level: 'MUST', text: 'A record that is gone or not visible any more answers 404.' },
  {
    id: 'RCP-027.18',
    level: 'SHOULD',
    text: 'On removal, events of children come before that of the parent.',
  },
  { id: 'RCP-027.19', level: 'MAY', text: 'ResourceRecordUrl: an address for fetching the record.' },
  { id: 'RCP-027.20a', level: 'MUST', text: 'Certification: the metadata has EntityEvent with its fields.' },
  {
    id: 'RCP-027.20b',
    level: 'MAY',
    text: 'Certification: additional fields are ignored.',
    unseen: 'no rule looks at other fields',
  },
  { id: 'RCP-027.20c', level: 'MUST', text: 'Certification: a GET on EntityEvent returns data.' },
  { id: 'RCP-027.20d', level: 'MUST', text: 'Certification: sampled records have rising numbers.' },
  { id: 'RCP-027.20e', level: 'MUST', text: 'Certification: each ResourceName is defined in the metadata.' },
  { id: 'RCP-027.20f', level: 'MUST', text: 'Certification: the response is well formed.' },
  {
    id: 'RCP-027.20g',
    level: 'MUST',
    text: 'Certification: each sampled record is returned, or said to be gone (400 there, 404 in the workflow).',
  },
  { id: 'RCP-027.20h', level: 'MUST', text: 'Certification: the order of numbers is tested.' },
  { id: 'RCP-027.20i', level: 'MUST', text: 'Certification: the same number gives the same record.' },
  { id: 'RCP-027.21', level: 'MUST', text: 'What is created, updated or deleted has an event (Synopsis).' },
  {
    id: 'RCP-027.22',
    level: 'SHOULD',
    text: 'Consumers fetch the record that an event speaks of, as it then is.',
  },
];

/** RCP-028, Push Replication Using Webhooks. */
const rcp028: readonly Clause[] = [
  { id: 'RCP-028.1', level: 'MAY', text: 'Producers push what has been published to EntityEvent.' },
  {
    id: 'RCP-028.2',
    level: 'MUST',
    text: 'Consumers implement an endpoint that receives events.',
    unseen: consumer,
  },
  { id: 'RCP-028.3', level: 'MUST', text: 'Authorization is established with an OAuth2 bearer token.' },
  {
    id: 'RCP-028.4',
    level: 'MUST',
    text: 'Producers POST an EntityEvent payload with the given credentials.',
  },
  { id: 'RCP-028.5', level: 'MUST', text: 'The payload is RESO Common Format, single or multi-valued.' },
  {
    id: 'RCP-028.6',
    level: 'MUST',
    text: 'Requests carry Content-Type: application/json; 200 means received.',
  },
  { id: 'RCP-028.7', level: 'MAY', text: 'A call that takes too long may be abandoned and made again.' },
  { id: 'RCP-028.8', level: 'SHOULD', text: 'On 429 the producer halts.' },
  { id: 'RCP-028.9', level: 'SHOULD', text: 'Retry-After, a date or seconds, is waited for.' },
  {
    id: 'RCP-028.10',
    level: 'MAY',
    text: 'The producer may stop after failures; a POST of the consumer resumes.',
  },
  { id: 'RCP-028.11', level: 'SHOULD', text: 'Consumers accept and queue.', unseen: consumer },
  { id: 'RCP-028.12', level: 'SHOULD', text: "The consumer's label comes in the EntityEventSource header." },
  { id: 'RCP-028.13', level: 'SHOULD', text: 'The credential is a long-lived bearer token of the consumer.' },
  { id: 'RCP-028.14', level: 'SHOULD', text: 'The EntityEvent resource is hosted as well.' },
  { id: 'RCP-028.15', level: 'MAY', text: 'There is no certification impact.', unseen: 'nothing to look at' },
  {
    id: 'RCP-028.16',
    level: 'SHOULD',
    text: 'Subscriptions are made by EntityEventSubscription (proposal RCP-049).',
  },
  { id: 'RCP-028.17', level: 'SHOULD', text: 'Nothing is left out and the order is kept (from RCP-027).' },
];

/** Web API Core 2.0.0, as far as a feed of events and records uses it. */
const core200: readonly Clause[] = [
  { id: 'CORE-2.0.0.1a', level: 'MUST', text: 'HTTPS.' },
  { id: 'CORE-2.0.0.1b', level: 'MUST', text: 'JSON for data.' },
  { id: 'CORE-2.0.0.1c', level: 'MUST', text: 'XML for metadata.' },
  {
    id: 'CORE-2.0.0.1d',
    level: 'MUST',
    text: 'HTTP/1.1 or above.',
    unseen: 'the suite itself speaks HTTP/1.1, so that every other rule would fail',
  },
  { id: 'CORE-2.0.0.2', level: 'MUST', text: 'Responses carry OData-Version.' },
  { id: 'CORE-2.0.0.3', level: 'MUST', text: 'The table of version negotiation.' },
  {
    id: 'CORE-2.0.0.4',
    level: 'SHOULD',
    text: 'omit=nulls is supported, omit=defaults is not.',
    unseen: 'optional headers',
  },
  { id: 'CORE-2.0.0.5a', level: 'MUST', text: '$metadata below the service root, XML by default.' },
  { id: 'CORE-2.0.0.5b', level: 'MUST', text: '$format=application/xml works on the metadata.' },
  {
    id: 'CORE-2.0.0.5c',
    level: 'MUST',
    text: 'Service roots do not overlap.',
    unseen: 'only one service root is known to a run',
  },
  { id: 'CORE-2.0.0.6', level: 'MUST', text: 'The service document stands at the root.' },
  {
    id: 'CORE-2.0.0.7a',
    level: 'MUST',
    text: "Resource('ID') for string keys, at the top level of the answer.",
  },
  { id: 'CORE-2.0.0.7b', level: 'MUST', text: 'Resource(123) for numeric keys.' },
  { id: 'CORE-2.0.0.8', level: 'MUST', text: 'Names and strings are case-sensitive.' },
  { id: 'CORE-2.0.0.9', level: 'MUST', text: 'One of the five standard resources is exposed.' },
  { id: 'CORE-2.0.0.10a', level: 'MUST', text: '$select.' },
  { id: 'CORE-2.0.0.10b', level: 'MUST', text: '$top.' },
  { id: 'CORE-2.0.0.10c', level: 'MUST', text: '$count.' },
  { id: 'CORE-2.0.0.10d', level: 'MUST', text: '$skip.' },
  { id: 'CORE-2.0.0.10e', level: 'MUST', text: '$orderby.' },
  {
    id: 'CORE-2.0.0.10f',
    level: 'MUST',
    text: '$filter comparisons on numbers, dates, timestamps, booleans, strings.',
  },
  { id: 'CORE-2.0.0.10g', level: 'MUST', text: '$filter with and, or, not.' },
  { id: 'CORE-2.0.0.11a', level: 'MUST', text: 'now() with ne, lt, le.' },
  { id: 'CORE-2.0.0.11b', level: 'MUST', text: 'Timestamp literals with offsets.' },
  { id: 'CORE-2.0.0.12a', level: 'MUST', text: 'Single enumerations: has, eq, ne.' },
  { id: 'CORE-2.0.0.12b', level: 'MUST', text: 'Collections: any().' },
  { id: 'CORE-2.0.0.12c', level: 'MUST', text: 'Collections: all(), true for an empty one.' },
  { id: 'CORE-2.0.0.13', level: 'MAY', text: 'String functions.', unseen: 'out of scope in 2.0.0' },
  {
    id: 'CORE-2.0.0.14',
    level: 'MAY',
    text: 'Results need not agree between requests.',
    unseen: 'a permission; rules compare readings only where RCP-027 forbids a difference',
  },
  { id: 'CORE-2.0.0.15', level: 'MAY', text: '413 for expressions that are too complex.', unseen: licence },
  { id: 'CORE-2.0.0.16a', level: 'MUST', text: '200 with an empty set where nothing matches.' },
  { id: 'CORE-2.0.0.16b', level: 'MUST', text: 'The fitting status for each error.' },
  { id: 'CORE-2.0.0.16c', level: 'MUST', text: 'Errors in the form of OData.' },
  {
    id: 'CORE-2.0.0.16d',
    level: 'MUST',
    text: '403 where authentication did not succeed (401 is let pass).',
  },
  { id: 'CORE-2.0.0.17a', level: 'MUST', text: 'An unknown field in $filter gives 400.' },
  { id: 'CORE-2.0.0.17b', level: 'MUST', text: 'An unknown resource gives 404.' },
  { id: 'CORE-2.0.0.18a', level: 'MUST', text: 'OAuth2 bearer token.' },
  { id: 'CORE-2.0.0.18b', level: 'MUST', text: 'OAuth2 client credentials, where they are offered.' },
];

/** Web API Core 2.1.0, what it adds. */
const core210: readonly Clause[] = [
  { id: 'CORE-2.1.0.1', level: 'MUST', text: 'Server-driven paging with nextLink.' },
  { id: 'CORE-2.1.0.2', level: 'MUST', text: '$top=1 gets no nextLink.' },
  { id: 'CORE-2.1.0.3', level: 'MUST', text: 'Ten pages and more do not repeat data.' },
  { id: 'CORE-2.1.0.4', level: 'MUST', text: 'nextLinks keep the filter; the last page has none.' },
  { id: 'CORE-2.1.0.5a', level: 'MUST', text: '$expand.' },
  { id: 'CORE-2.1.0.5b', level: 'MUST', text: 'Navigation paths.' },
  { id: 'CORE-2.1.0.6', level: 'MUST', text: 'Property, Member, Office, Field and Lookup at the top level.' },
  { id: 'CORE-2.1.0.7a', level: 'MUST', text: 'String lookups: eq and ne.' },
  { id: 'CORE-2.1.0.7b', level: 'MUST', text: 'Collections of string lookups: any() and all().' },
  { id: 'CORE-2.1.0.7c', level: 'MUST', text: 'The Lookup resource lists the values.' },
  { id: 'CORE-2.1.0.8', level: 'MUST', text: 'in, for servers that answer in OData 4.01.' },
  { id: 'CORE-2.1.0.9', level: 'MUST', text: 'TLS 1.2 or above.' },
  {
    id: 'CORE-2.1.0.10',
    level: 'SHOULD',
    text: 'Keys are shown in quotes only; quoted numbers are accepted.',
  },
  {
    id: 'CORE-2.1.0.11',
    level: 'MAY',
    text: 'The keywords of RFC 2119 apply.',
    unseen: 'nothing to look at',
  },
];

/** OData 4.01, the points on which replication clients fall over. */
const odata: readonly Clause[] = [
  { id: 'ODATA.int64', level: 'MUST', text: 'Int64 has all its digits.' },
  { id: 'ODATA.keys', level: 'MUST', text: 'Keys with special characters.' },
  {
    id: 'ODATA.paging',
    level: 'MUST',
    text: '$top as a total, page size preference, links that can be followed.',
  },
  { id: 'ODATA.count', level: 'SHOULD', text: '/$count.' },
  { id: 'ODATA.options', level: 'MUST', text: 'Spelling, encoding and validity of query options.' },
  { id: 'ODATA.filter', level: 'MUST', text: 'Precedence of operators.' },
  { id: 'ODATA.formats', level: 'SHOULD', text: 'Formats and metadata levels.' },
  { id: 'ODATA.errors', level: 'SHOULD', text: 'Errors reveal no internals.' },
];

/** Every clause that the suite knows of. */
export const documents: readonly Document[] = [
  {
    id: 'RCP-027',
    title: 'RCP-027, EntityEvent Resource and Replication (2.0.2 and 1.0.0, the same text)',
    clauses: rcp027,
  },
  { id: 'RCP-028', title: 'RCP-028, Push with Webhooks (1.0.1)', clauses: rcp028 },
  { id: 'CORE-2.0.0', title: 'Web API Core 2.0.0 (the parts that a feed uses)', clauses: core200 },
  { id: 'CORE-2.1.0', title: 'Web API Core 2.1.0 (what it adds)', clauses: core210 },
  { id: 'ODATA', title: 'OData 4.01 (what replication clients fall over)', clauses: odata },
];

/** The ids of the rules that exercise a clause. */
export function rulesFor(clause: string): string[] {
  return rules.filter(rule => rule.covers.includes(clause)).map(rule => rule.id);
}
