/** The primitive types a property may have; Edm.Stream and the geo types are outside the model. CSDL 4.01, section 3.3. */
export type PrimitiveName =
  | 'Edm.Binary'
  | 'Edm.Boolean'
  | 'Edm.Date'
  | 'Edm.DateTimeOffset'
  | 'Edm.Decimal'
  | 'Edm.Double'
  | 'Edm.Duration'
  | 'Edm.Guid'
  | 'Edm.Int16'
  | 'Edm.Int32'
  | 'Edm.Int64'
  | 'Edm.Single'
  | 'Edm.String'
  | 'Edm.TimeOfDay';

/** A primitive type. In SQL: text, int2/4/8, numeric, float4/8, boolean, date, time, timestamptz, interval, uuid, bytea. */
export interface PrimitiveType {
  readonly kind: 'primitive';
  readonly name: PrimitiveName;
}

/** One member of an enumeration; `value` is its number as CSDL states it. */
export interface EnumMember {
  readonly name: string;
  readonly value: bigint;
}

/**
 * An enumeration. `name` is qualified. `storage` says what the column holds: the member's name as text, or its number (the
 * only storage in which members are ordered and flags can be combined).
 */
export interface EnumType {
  readonly kind: 'enum';
  readonly name: string;
  readonly members: readonly EnumMember[];
  readonly flags: boolean;
  readonly storage: 'name' | 'value';
}

/** A structured value kept in one jsonb column; the properties' `column` is the member's name in the JSON object. */
export interface ComplexType {
  readonly kind: 'complex';
  readonly name: string;
  readonly properties: readonly Property[];
}

/** A type whose values compare: what literals, functions and operators work on. */
export type ScalarType = PrimitiveType | EnumType;

/** A collection of values in one column: a Postgres array for scalars, a jsonb array for complex values. */
export interface CollectionType {
  readonly kind: 'collection';
  readonly of: ScalarType | ComplexType;
}

/** What a property may be. */
export type PropertyType = ScalarType | ComplexType | CollectionType;

/**
 * Where a property's value is read: an unquoted column name (quoted when SQL is written), or a function from the quoted
 * alias of the row to an SQL expression of the type's SQL form (see PrimitiveType): a `timestamp` column, for example, is read
 * as `(alias.column at time zone 'UTC')`, an SQL enumeration as `alias.column::text`. The function's text is trusted: it comes from code or
 * config, never from a request.
 */
export type ColumnSql = string | ((alias: string) => string);

/** A constant annotation, as CSDL JSON writes it. */
export type AnnotationValue =
  | string
  | number
  | boolean
  | null
  | readonly AnnotationValue[]
  | { readonly [name: string]: AnnotationValue };

/** A structural property. `maxLength` counts characters; `precision`/`scale` are those of Edm.Decimal and the time types. */
export interface Property {
  readonly name: string;
  readonly type: PropertyType;
  readonly nullable: boolean;
  readonly maxLength?: number;
  readonly precision?: number;
  readonly scale?: number | 'variable';
  readonly annotations?: Readonly<Record<string, AnnotationValue>>;
  readonly column: ColumnSql;
}

/** A table or view by its unquoted names. */
export interface TableRef {
  readonly schema?: string;
  readonly name: string;
}

/**
 * A relation: rows of `target` (a qualified entity type name) whose columns equal the own columns, pair by pair.
 * `collection` is false for a relation to at most one row.
 */
export interface NavigationProperty {
  readonly name: string;
  readonly target: string;
  readonly collection: boolean;
  readonly nullable: boolean;
  readonly join: readonly { readonly own: ColumnSql; readonly target: ColumnSql }[];
  readonly annotations?: Readonly<Record<string, AnnotationValue>>;
}

/** What an entity type states; `defineEntityType` adds the lookup by name. */
export interface EntityTypeShape {
  readonly namespace: string;
  readonly name: string;
  readonly key: readonly string[];
  readonly properties: readonly Property[];
  readonly navigation: readonly NavigationProperty[];
  /** Where a relation to this type reads its rows. */
  readonly table: TableRef;
  readonly annotations?: Readonly<Record<string, AnnotationValue>>;
}

/** An entity type with its members by name. */
export interface EntityType extends EntityTypeShape {
  readonly kind: 'entity';
  readonly qualifiedName: string;
  readonly members: ReadonlyMap<string, Property | NavigationProperty>;
}

/** The types that expressions may name, by qualified name. */
export interface EdmModel {
  readonly entityTypes: ReadonlyMap<string, EntityType>;
  readonly enumTypes: ReadonlyMap<string, EnumType>;
}

/** The primitive type of that name. */
export function primitive(name: PrimitiveName): PrimitiveType {
  return { kind: 'primitive', name };
}

/** True for a relation, false for a structural property. */
export function isNavigation(member: Property | NavigationProperty): member is NavigationProperty {
  return 'join' in member;
}

/**
 * Checks and completes an entity type. @throws Error when two members share a name, or the key is empty, unknown,
 * nullable or not scalar: faults of the program or its config, not of a request.
 */
export function defineEntityType(shape: EntityTypeShape): EntityType {
  const members = new Map<string, Property | NavigationProperty>();
  for (const member of [...shape.properties, ...shape.navigation]) {
    if (members.has(member.name)) throw new Error(`${shape.name} has two members named ${member.name}`);
    members.set(member.name, member);
  }
  if (shape.key.length === 0) throw new Error(`${shape.name} has no key`);
  for (const name of shape.key) {
    const property = members.get(name);
    const scalar =
      property !== undefined &&
      !isNavigation(property) &&
      !property.nullable &&
      (property.type.kind === 'primitive' || property.type.kind === 'enum');
    if (!scalar)
      throw new Error(`the key ${name} of ${shape.name} must be a scalar property that is not nullable`);
  }
  return { ...shape, kind: 'entity', qualifiedName: `${shape.namespace}.${shape.name}`, members };
}

/** Collects types into a model. @throws Error when a relation's target is missing or a name is used twice. */
export function defineModel(
  entityTypes: readonly EntityType[],
  enumTypes: readonly EnumType[] = [],
): EdmModel {
  const entities = new Map(entityTypes.map(type => [type.qualifiedName, type]));
  const enums = new Map(enumTypes.map(type => [type.name, type]));
  if (new Set([...entities.keys(), ...enums.keys()]).size !== entityTypes.length + enumTypes.length) {
    throw new Error('two types of the model share a name');
  }
  for (const type of entityTypes) {
    for (const navigation of type.navigation) {
      if (!entities.has(navigation.target)) {
        throw new Error(`${type.name}/${navigation.name} leads to the unknown type ${navigation.target}`);
      }
    }
  }
  return { entityTypes: entities, enumTypes: enums };
}

/** The type's name as CSDL writes it: `Edm.Int64`, `Ns.Color`, `Collection(Edm.String)`. */
export function typeName(type: PropertyType | EntityType): string {
  switch (type.kind) {
    case 'primitive':
    case 'enum':
    case 'complex':
      return type.name;
    case 'entity':
      return type.qualifiedName;
    case 'collection':
      return `Collection(${type.of.name})`;
    default: {
      const never: never = type;
      return never;
    }
  }
}
