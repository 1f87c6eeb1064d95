import type { Viewer } from '../base/auth/viewer.ts';
import {
  bindFilter,
  bindOrderBy,
  type EntitySet,
  parseExpression,
  parseOrderBy,
  quoteString,
} from '../edm/index.ts';
import type { SentEvent } from './envelope.ts';
import type { ReadRecords } from './message.ts';

/** Keys of one statement; the expression language has a limit on the members of a list. */
const keysAtOnce = 100;

/**
 * Reads the records behind events through their entity sets, as their consumer may see them at this moment. A resource
 * without a set, and a key that does not fit, have no record.
 */
export function recordReader(sets: readonly EntitySet[], root: string): ReadRecords {
  const byName = new Map(sets.map(set => [set.name, set]));
  return async (consumerId, events) => {
    const viewer: Viewer = { consumerId, consumer: undefined, scopes: new Set(['read']) };
    const found = new Map<string, string>();
    for (const [resource, keys] of keysByResource(events)) {
      const set = byName.get(resource);
      if (set === undefined) continue;
      for (let from = 0; from < keys.length; from += keysAtOnce) {
        for (const [key, json] of await readPart(set, keys.slice(from, from + keysAtOnce), root, viewer)) {
          found.set(nameOf(resource, key), json);
        }
      }
    }
    return event => found.get(nameOf(event.resource, event.key)) ?? null;
  };
}

async function readPart(
  set: EntitySet,
  keys: readonly string[],
  root: string,
  viewer: Viewer,
): Promise<(readonly [string, string])[]> {
  const [keyName = ''] = set.type.key;
  const property = set.type.properties.find(({ name }) => name === keyName);
  const type = property?.type.kind === 'primitive' ? property.type.name : '';
  const pattern = literalPattern(type);
  const literals = keys
    .filter(key => pattern.test(key))
    .map(key => (type === 'Edm.String' ? quoteString(key) : key));
  if (literals.length === 0) return [];
  const page = await set.readPage(
    {
      root,
      expand: [],
      ieee754: false,
      omitNulls: false,
      filter: bindFilter(parseExpression(`${keyName} in (${literals.join(',')})`), set.type),
      orderBy: bindOrderBy(parseOrderBy(keyName), set.type),
      limit: keys.length,
      skip: 0,
      count: false,
    },
    viewer,
  );
  return page.rows.map(({ key: [key = ''], json }) => [key, json] as const);
}

function literalPattern(type: string): RegExp {
  if (type === 'Edm.String') return /^[^\0]*$/s;
  if (type === 'Edm.Guid') return /^[0-9a-f-]{36}$/i;
  return /^Edm\.(Int(16|32|64)|Decimal)$/.test(type) ? /^-?\d{1,30}(\.\d+)?$/ : /^$/;
}

function keysByResource(events: readonly SentEvent[]): Map<string, string[]> {
  const keys = new Map<string, Set<string>>();
  for (const { resource, key } of events) {
    const known = keys.get(resource) ?? new Set<string>();
    keys.set(resource, known.add(key));
  }
  return new Map([...keys].map(([resource, set]) => [resource, [...set]]));
}

function nameOf(resource: string, key: string): string {
  return `${resource} ${key}`;
}
