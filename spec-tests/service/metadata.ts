import type { Exchange } from '../http/exchange.ts';

/** A property of an entity type. */
export type Field = { name: string; type: string; isCollection: boolean; lookupName?: string };

/** A navigation property. `type` is the qualified name of the target. */
export type Navigation = { name: string; type: string; isCollection: boolean };

/** An entity type as far as the rules need it. */
export type EntityType = {
  name: string;
  keys: string[];
  fields: Map<string, Field>;
  navigation: Navigation[];
};

/** What `$metadata` says of a service. CSDL XML. */
export type Service = {
  exchange: Exchange;
  /** By name of the entity set. */
  sets: Map<string, EntityType>;
  /** Members of the enumeration types by qualified name. */
  enums: Map<string, string[]>;
};

const tagPattern =
  /<(\/?)([A-Za-z_][\w.-]*:)?([A-Za-z_]\w*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/g;
const attributePattern = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

type Tag = { name: string; closing: boolean; empty: boolean; attributes: Map<string, string> };

/**
 * Reads the parts of a CSDL XML document that the rules use: entity sets, keys, fields, navigation, enumerations.
 * Returns undefined when the text holds no entity set. It does not judge validity.
 */
export function readMetadata(exchange: Exchange): Service | undefined {
  const types = new Map<string, EntityType>();
  const service: Service = { exchange, sets: new Map(), enums: new Map() };
  const setTypes: [string, string][] = [];
  const at: Place = { namespace: '', inKey: false };
  for (const tag of tagsOf(exchange.text.replace(/<!--[\s\S]*?-->/g, ''))) {
    const { name, attributes } = tag;
    if (tag.closing) leave(at, name);
    else if (name === 'Schema') at.namespace = attributes.get('Namespace') ?? '';
    else if (name === 'EntitySet')
      setTypes.push([attributes.get('Name') ?? '', attributes.get('EntityType') ?? '']);
    else if (name === 'EnumType') startEnum(service, at, attributes);
    else if (name === 'Member') at.members?.push(attributes.get('Name') ?? '');
    else enterType(types, at, tag);
  }
  for (const [set, type] of setTypes) {
    const found = types.get(type) ?? [...types.values()].find(each => each.name === type.split('.').at(-1));
    if (found !== undefined) service.sets.set(set, found);
  }
  return service.sets.size === 0 ? undefined : service;
}

type Place = { namespace: string; type?: EntityType; field?: Field; members?: string[]; inKey: boolean };

function enterType(types: Map<string, EntityType>, at: Place, tag: Tag): void {
  const { name, attributes } = tag;
  const called = attributes.get('Name') ?? '';
  if (name === 'EntityType') {
    at.type = { name: called, keys: [], fields: new Map(), navigation: [] };
    types.set(`${at.namespace}.${called}`, at.type);
  } else if (name === 'Key') at.inKey = !tag.empty;
  else if (name === 'PropertyRef' && at.inKey) at.type?.keys.push(called);
  else if (name === 'Property' && at.type !== undefined) {
    at.field = { name: called, ...typeOf(attributes) };
    at.type.fields.set(called, at.field);
  } else if (name === 'NavigationProperty') at.type?.navigation.push({ name: called, ...typeOf(attributes) });
  else if (
    name === 'Annotation' &&
    at.field !== undefined &&
    /LookupName$/.test(attributes.get('Term') ?? '')
  ) {
    at.field.lookupName = attributes.get('String') ?? '';
  }
}

function startEnum(service: Service, at: Place, attributes: Map<string, string>): void {
  at.members = [];
  service.enums.set(`${at.namespace}.${attributes.get('Name') ?? ''}`, at.members);
}

function leave(at: Place, name: string): void {
  if (name === 'EntityType') delete at.type;
  if (name === 'EnumType') delete at.members;
  if (name === 'Property' || name === 'EntityType') delete at.field;
  if (name === 'Key') at.inKey = false;
}

function typeOf(attributes: Map<string, string>): { type: string; isCollection: boolean } {
  const written = attributes.get('Type') ?? 'Edm.String';
  const inner = /^Collection\((.+)\)$/.exec(written)?.[1];
  return { type: inner ?? written, isCollection: inner !== undefined };
}

function tagsOf(xml: string): Tag[] {
  return [...xml.matchAll(tagPattern)].map(match => ({
    name: match[3] ?? '',
    closing: match[1] === '/',
    empty: match[5] === '/',
    attributes: new Map(
      [...(match[4] ?? '').matchAll(attributePattern)].map(pair => [pair[1] ?? '', pair[2] ?? pair[3] ?? '']),
    ),
  }));
}
