import { ReplicationError } from './replication-error.ts';
import { xmlTags } from './xml-tags.ts';

/** One field of a resource. `type` is the EDM type (`Edm.String`, `Edm.Int64`, ...), or `json` for collections, complex and unknown types. */
export interface Field {
  readonly name: string;
  readonly type: string;
}

/** One entity set: its name in URLs and in `ResourceName`, its key field, its fields, and the resources that are its parents. */
export interface Resource {
  readonly name: string;
  /** The only key field. `undefined` when the key has several fields, which a ResourceRecordKey cannot name. */
  readonly key: Field | undefined;
  readonly fields: readonly Field[];
  readonly parents: readonly string[];
}

/** The resources of a source by name, parents before children as far as the metadata says. */
export interface Schema {
  readonly resources: ReadonlyMap<string, Resource>;
}

interface Navigation {
  readonly target: string;
  readonly many: boolean;
  constrained: boolean;
}

interface EntityType {
  readonly name: string;
  readonly base: string | undefined;
  readonly keys: string[];
  readonly fields: Field[];
  readonly navigations: Navigation[];
}

interface Csdl {
  readonly types: Map<string, EntityType>;
  readonly definitions: Map<string, string>;
  readonly aliases: Map<string, string>;
  readonly sets: Map<string, string>;
}

/**
 * Reads an XML CSDL document (`$metadata`, OData 4.0 or 4.01) into a Schema. Base types, aliases, type definitions and
 * enumerations are followed. Child resources are found by collection-valued navigation properties of the parent and by
 * single-valued ones with a referential constraint.
 * @throws ReplicationError `metadata` when the text is no CSDL or has no entity set.
 */
export function readMetadata(xml: string): Schema {
  const csdl = readCsdl(xml);
  if (csdl.sets.size === 0) {
    throw new ReplicationError('metadata', 'The $metadata document has no entity set, or is not XML CSDL.');
  }
  const flat = new Map<string, EntityType>();
  for (const [set, type] of csdl.sets) flat.set(set, flatten(csdl, type, 0));
  const parents = parentsOf(csdl, flat);
  const resources = new Map<string, Resource>();
  for (const [name, type] of flat) {
    const fields = type.fields.map(field => ({ name: field.name, type: simpleType(csdl, field.type) }));
    const keyName = type.keys.length === 1 ? type.keys[0] : undefined;
    const key = fields.find(field => field.name === keyName);
    resources.set(name, { name, key, fields, parents: [...(parents.get(name) ?? [])] });
  }
  return { resources };
}

/** A Schema for sources without readable metadata, from key field names: `{ Property: 'ListingKey' }`. Keys are taken for strings. */
export function schemaFromKeys(keys: Readonly<Record<string, string>>): Schema {
  const resources = new Map<string, Resource>();
  for (const [name, key] of Object.entries(keys)) {
    const field: Field = { name: key, type: 'Edm.String' };
    resources.set(name, { name, key: field, fields: [field], parents: [] });
  }
  return { resources };
}

function readCsdl(xml: string): Csdl {
  const csdl: Csdl = { types: new Map(), definitions: new Map(), aliases: new Map(), sets: new Map() };
  let namespace = '';
  let entity: EntityType | undefined;
  let navigation: Navigation | undefined;
  for (const { name: tag, kind, attributes: a } of xmlTags(xml)) {
    const { Name = '', Type = '' } = a;
    if (kind === 'close') {
      if (tag === 'EntityType') entity = undefined;
      if (tag === 'NavigationProperty') navigation = undefined;
    } else if (tag === 'Schema') {
      namespace = a.Namespace ?? '';
      if (a.Alias) csdl.aliases.set(a.Alias, namespace);
    } else if (tag === 'EntityType') {
      const opened: EntityType = {
        name: `${namespace}.${Name}`,
        base: a.BaseType,
        keys: [],
        fields: [],
        navigations: [],
      };
      csdl.types.set(opened.name, opened);
      entity = kind === 'open' ? opened : undefined;
    } else if (tag === 'TypeDefinition')
      csdl.definitions.set(`${namespace}.${Name}`, a.UnderlyingType ?? 'json');
    // An enumeration value is written as its member name (or a list of names), so it is a string.
    else if (tag === 'EnumType') csdl.definitions.set(`${namespace}.${Name}`, 'Edm.String');
    else if (tag === 'EntitySet') csdl.sets.set(Name, a.EntityType ?? '');
    else if (entity && tag === 'PropertyRef') entity.keys.push(Name);
    else if (entity && tag === 'Property') entity.fields.push({ name: Name, type: Type });
    else if (entity && tag === 'NavigationProperty') {
      const opened = { target: itemType(Type), many: Type.startsWith('Collection('), constrained: false };
      entity.navigations.push(opened);
      navigation = kind === 'open' ? opened : undefined;
    } else if (navigation && tag === 'ReferentialConstraint') navigation.constrained = true;
  }
  return csdl;
}

function itemType(type: string): string {
  return /^Collection\((.*)\)$/.exec(type)?.[1] ?? type;
}

function resolveName(csdl: Csdl, name: string): string {
  const dot = name.lastIndexOf('.');
  const namespace = csdl.aliases.get(name.slice(0, dot));
  return namespace === undefined ? name : `${namespace}${name.slice(dot)}`;
}

function flatten(csdl: Csdl, name: string, depth: number): EntityType {
  const type = csdl.types.get(resolveName(csdl, name));
  if (!type)
    throw new ReplicationError(
      'metadata',
      `The $metadata document names the entity type ${name} but does not define it.`,
    );
  if (!type.base || depth > 20) return type;
  const base = flatten(csdl, type.base, depth + 1);
  return {
    ...type,
    keys: type.keys.length > 0 ? type.keys : base.keys,
    fields: [...base.fields, ...type.fields],
    navigations: [...base.navigations, ...type.navigations],
  };
}

function simpleType(csdl: Csdl, type: string): string {
  const underlying = csdl.definitions.get(resolveName(csdl, type)) ?? type;
  return /^Edm\.(?!Geo|Stream|Untyped|ComplexType)\w+$/.test(underlying) ? underlying : 'json';
}

function parentsOf(csdl: Csdl, sets: ReadonlyMap<string, EntityType>): Map<string, Set<string>> {
  const setsByType = new Map<string, string[]>();
  for (const [set, type] of sets) setsByType.set(type.name, [...(setsByType.get(type.name) ?? []), set]);
  const parents = new Map<string, Set<string>>();
  const add = (child: string, parent: string) => {
    if (child !== parent) parents.set(child, (parents.get(child) ?? new Set()).add(parent));
  };
  for (const [set, type] of sets) {
    for (const { target, many, constrained } of type.navigations) {
      for (const other of setsByType.get(resolveName(csdl, target)) ?? []) {
        if (many) add(other, set);
        else if (constrained) add(set, other);
      }
    }
  }
  return parents;
}
