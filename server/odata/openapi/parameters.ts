import type { Json } from './json.ts';

function option(name: string, description: string, schema: Json): Json {
  return { name, in: 'query', description, schema };
}

const natural: Json = { type: 'integer', minimum: 0 };

/** The parameters that operations share, by the name they are referred to. */
export const parameters: { readonly [name: string]: Json } = {
  filter: option('$filter', 'Which entities, in the filter language of OData.', { type: 'string' }),
  orderby: option('$orderby', 'Properties or expressions, each with asc or desc.', { type: 'string' }),
  select: option('$select', 'Names of properties, with commas between.', { type: 'string' }),
  top: option('$top', 'Most entities of the whole result, over all pages.', natural),
  skip: option('$skip', 'Entities to leave out at the beginning.', natural),
  count: option('$count', 'Whether the page tells how many match.', { type: 'boolean' }),
  format: option('$format', 'A media type; goes before Accept.', { type: 'string' }),
  prefer: {
    name: 'Prefer',
    in: 'header',
    description: 'maxpagesize=N, omit-values=nulls, track-changes, include-annotations="pulsefeed.*"',
    schema: { type: 'string' },
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag of the state that is to be changed.',
    schema: { type: 'string' },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The ETag that the client has.',
    schema: { type: 'string' },
  },
};

/** What a collection takes. */
export const collectionParameters = [
  'filter',
  'orderby',
  'select',
  'top',
  'skip',
  'count',
  'format',
  'prefer',
] as const;

/** What a single entity takes. */
export const entityParameters = ['select', 'format', 'prefer', 'ifNoneMatch'] as const;
