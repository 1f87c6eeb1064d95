import type { RefusedConstruct } from '../../edm/cases/abnf-cases.ts';

/**
 * Constructs of the standard's grammar that are outside of what this service serves, by the requests that hold them.
 * Nothing else of the grammar may be refused.
 */
export const REFUSED_REQUESTS: readonly RefusedConstruct[] = [
  {
    construct: 'functions and actions',
    why: 'the model defines none',
    input:
      /^(?:http:\/\/host\/service\/EmployeesByManager|ProductsBy|ProductsOrderedBy|TheBestProduct|TheMostPopular|color=)|\/(?:Model\.)?(?:All|Most|ProductsBy|Rejection|With)\w*/,
    refusal: /^404 There is no such resource|^400 .*key/,
  },
  {
    construct: 'functions in expressions',
    why: 'the model defines none',
    input: /\$filter=Special\./,
    refusal: /^400 There is no function/,
  },
  {
    construct: 'derived types',
    why: 'the model has none, so a cast names nothing',
    input:
      /\/(?:Model\.)?(?:BestSellingProduct|AddressWithLocation|Customer\?\$id)|expand=(?:Model\.)?BestSelling/,
    refusal: /^404 There is no such resource|^400 \w+ has no relation/,
  },
  {
    construct: 'singletons',
    why: 'the model has none',
    input: /^(?:SingletonEntity|MainSupplier)/,
    refusal: /^404 There is no such resource/,
  },
  {
    construct: 'paths into complex values and to a member by its place',
    why: 'records have no complex properties, and their collections are read whole',
    input: /\/Address\/(?:Country|Products|Street)|\/EmailAddresses\/1/,
    refusal: /^404 There is no such resource/,
  },
  {
    construct: 'key as segment',
    why: 'a second spelling of every address (a may of section 13.2.1)',
    input: /^(?:Customers|Employees|People|Categories|Orders)\/(?!Model|\$|MostPopular)/,
    refusal: /^404 There is no such resource/,
  },
  {
    construct: 'keys of dates and times',
    why: 'records are told apart by text, numbers and guids',
    input: /^Categories\((?:2018-02-13T)?23/,
    refusal: /^400 The key takes/,
  },
  {
    construct: 'references',
    why: 'relations follow from the columns and cannot be set by themselves',
    input: /\/\$ref$/,
    refusal: /^501 \/\$ref is not served/,
  },
  {
    construct: '/$filter and /$each in the path',
    why: '$filter says the same, and nothing is done to a whole collection',
    input: /\/\$filter\(/,
    refusal: /^501 (?:\/\$filter is not served|The path step \$filter)/,
  },
  {
    construct: 'media',
    why: 'records are no streams',
    input: /^Categories\(1\)\/\$value$/,
    refusal: /^400 Categories is not a media entity/,
  },
  {
    construct: 'the format of a raw value',
    why: 'it is text and nothing else',
    input: /\/\$value\?\$format=json$/,
    refusal: /^406 A raw value has one format/,
  },
  {
    construct: 'ids of other services',
    why: 'an entity that this service does not hold is not there',
    input: /^\$entity\?\$?id=urn:/,
    refusal: /^404/,
  },
  {
    construct: '$crossjoin and $all',
    why: 'a replica reads set by set',
    input: /^(?:http:\/\/serviceRoot\/(?:Model\.Container\/)?)?\$(?:crossjoin|all)\b|Model\.Container/,
    refusal: /^(?:501 \$\w+ is not served|404 There is no such resource)/,
  },
  {
    construct: '$root',
    why: 'a condition is on the record and what it is related to',
    input: /\$root\/Employees/,
    refusal: /^501 /,
  },
  {
    construct: 'options within $select and aliases within $expand',
    why: 'properties are returned whole; aliases are given once for the request',
    input: /\$select=Addresses\(|\$expand=\w+\(@/,
    refusal: /^501 (?:Options within \$select|Parameter aliases within \$expand)/,
  },
  {
    construct: '$search',
    why: 'there is no full text index to ask',
    input: /\$search=/,
    refusal: /^501 \$search is not served/,
  },
  {
    construct: 'enumerations',
    why: 'lookups are strings, so no property has such a type',
    input: /^Products\?\$filter=style /,
    refusal: /^400 Products has no property style/,
  },
  {
    construct: 'tokens that the service did not give',
    why: 'they are signed',
    input: /^\$(?:skip|delta)token=/,
    refusal: /^400 The (?:nextLink|deltaLink|\$?\w+) /,
  },
  {
    construct: 'other formats of $metadata and $batch',
    why: 'metadata comes as XML and JSON, a batch is answered as JSON or multipart',
    input: /\$format=text\/html/,
    refusal: /^406 Metadata is served as/,
  },
  {
    construct: 'isolation across requests',
    why: 'every statement has a snapshot of its own (Protocol 8.2.6)',
    input: /^(?:odata-)?isolation:/,
    refusal: /^412 Isolation/,
  },
  {
    construct: 'headers that only servers send',
    why: 'a request does not carry them',
    input: /^(?:AsyncResult|odata-entityI[dD]|OData-error):/,
    refusal: /is not read\.$/,
  },
  {
    construct: 'preferences that are not honoured',
    why: 'a server may ignore any; these have no use here, or are about annotations that there are not',
    input: /callback|defaults|wait=0|#qual|"-/,
    refusal: /^The preference is ignored/,
  },
];

/** The request that each context URL of the grammar answers, where the service serves it. */
export const CONTEXTS: Readonly<Record<string, string>> = {
  '#Customers/$entity': 'Customers(1)',
  '#Customers(Address,Orders)/$entity': 'Customers(1)?$select=Address,Orders',
  '#Customers(1)/Addresses': 'Customers(1)/Addresses',
};

/** Context URLs of answers that the service never gives. */
export const UNWRITTEN_CONTEXTS: readonly Omit<RefusedConstruct, 'refusal'>[] = [
  { construct: 'derived types', why: 'the model has none', input: /Model\./ },
  {
    construct: 'parts of complex values',
    why: 'they are returned whole',
    input: /\(Address\/|Addresses\(Country\)/,
  },
  { construct: 'recursion', why: '$levels is not served', input: /\+\(/ },
  { construct: 'singletons', why: 'the model has none', input: /^#SingletonEntity/ },
  {
    construct: 'contained and unbound collections',
    why: 'every entity is in a set, by which its context is told',
    input: /^#Customers\('ALFKI'\)\/Orders|^#Collection\(/,
  },
  { construct: 'references', why: '$ref is not served', input: /^#\$ref/ },
  {
    construct: 'changes of relations and deletions',
    why: 'the feed alone is tracked, and an event is never changed; its own context is #EntityEvent/$delta',
    input: /\/\$(?:delta|deletedEntity|link|deletedLink)$/,
  },
];
