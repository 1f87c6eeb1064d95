import type { EntitySet } from '../../edm/entity-set.ts';
import type { EdmModel, EntityType, EnumType, NavigationProperty, Property } from '../../edm/index.ts';

/**
 * The model of the service as CSDL JSON 4.01 (OData CSDL JSON Representation). The XML representation is written from
 * this same document, so the two cannot disagree.
 */
export type Csdl = { readonly [name: string]: CsdlValue };
export type CsdlValue = string | number | boolean | null | readonly CsdlValue[] | Csdl;

/** Namespace of the types and of the entity container. RESO's own metadata uses it. */
export const namespace = 'org.reso.metadata';

/** Functions of the filter language, for Capabilities.FilterFunctions. */
const filterFunctions = [
  'ceiling',
  'concat',
  'contains',
  'date',
  'day',
  'endswith',
  'floor',
  'fractionalseconds',
  'hour',
  'indexof',
  'length',
  'maxdatetime',
  'mindatetime',
  'minute',
  'month',
  'now',
  'round',
  'second',
  'startswith',
  'substring',
  'time',
  'tolower',
  'totaloffsetminutes',
  'totalseconds',
  'toupper',
  'trim',
  'year',
];

const vocabularies = [
  ['Org.OData.Core.V1', 'Core'],
  ['Org.OData.Capabilities.V1', 'Capabilities'],
] as const;

/** Builds the document for these sets. */
export function csdlDocument(sets: readonly EntitySet[], model: EdmModel): Csdl {
  const types: Record<string, CsdlValue> = {};
  for (const type of model.entityTypes.values()) types[type.name] = entityType(type);
  for (const type of model.enumTypes.values())
    types[type.name.split('.').at(-1) ?? type.name] = enumType(type);
  for (const set of sets) Object.assign(types, boundActions(set));
  const container: Record<string, CsdlValue> = { $Kind: 'EntityContainer', ...containerAnnotations };
  for (const set of sets) container[set.name] = entitySet(set, sets);
  return {
    $Version: '4.01',
    $EntityContainer: `${namespace}.Pulsefeed`,
    $Reference: Object.fromEntries(
      vocabularies.map(([name, alias]) => [
        `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${name}.json`,
        { $Include: [{ $Namespace: name, $Alias: alias }] },
      ]),
    ),
    [namespace]: { ...types, Pulsefeed: container },
  };
}

const containerAnnotations: Record<string, CsdlValue> = {
  '@Core.ODataVersions': '4.0 4.01',
  '@Capabilities.ConformanceLevel': 'Intermediate',
  '@Capabilities.SupportedFormats': ['application/json'],
  '@Capabilities.AsynchronousRequestsSupported': false,
  '@Capabilities.BatchSupported': true,
  '@Capabilities.BatchSupport': {
    Supported: true,
    ContinueOnErrorSupported: true,
    ReferencesInRequestBodiesSupported: false,
    ReferencesAcrossChangeSetsSupported: false,
    EtagReferencesSupported: false,
    RequestDependencyConditionsSupported: false,
    SupportedFormats: ['multipart/mixed', 'application/json'],
  },
  '@Capabilities.FilterFunctions': filterFunctions,
  '@Capabilities.CrossJoinSupported': false,
  '@Capabilities.KeyAsSegmentSupported': false,
  '@Capabilities.QuerySegmentSupported': true,
};

function entitySet(set: EntitySet, sets: readonly EntitySet[]): CsdlValue {
  const bindings: Record<string, CsdlValue> = {};
  for (const navigation of set.type.navigation) {
    const target = sets.find(other => other.type.qualifiedName === navigation.target);
    if (target !== undefined) bindings[navigation.name] = target.name;
  }
  return {
    $Collection: true,
    $Type: set.type.qualifiedName,
    ...(Object.keys(bindings).length === 0 ? {} : { $NavigationPropertyBinding: bindings }),
    '@Capabilities.TopSupported': true,
    '@Capabilities.SkipSupported': true,
    '@Capabilities.ComputeSupported': false,
    '@Capabilities.IndexableByKey': true,
    '@Capabilities.CountRestrictions': { Countable: true },
    '@Capabilities.FilterRestrictions': { Filterable: true, RequiresFilter: false },
    '@Capabilities.SortRestrictions': { Sortable: true },
    '@Capabilities.SelectSupport': { Supported: true },
    '@Capabilities.ExpandRestrictions': { Expandable: set.type.navigation.length > 0 },
    '@Capabilities.SearchRestrictions': { Searchable: false },
    '@Capabilities.ChangeTracking': { Supported: set.name === 'EntityEvent' },
    '@Capabilities.InsertRestrictions': { Insertable: set.writable },
    '@Capabilities.UpdateRestrictions': { Updatable: set.writable, Upsertable: false },
    '@Capabilities.DeleteRestrictions': { Deletable: set.writable },
  };
}

/** The actions bound to one entity of the set (CSDL JSON 12.1). */
function boundActions({ type, actions = new Map() }: EntitySet): Record<string, CsdlValue> {
  const written = [...actions].map(([name, { parameters, returns }]): [string, CsdlValue] => [
    name,
    [
      {
        $Kind: 'Action',
        $IsBound: true,
        $Parameter: [
          { $Name: 'bound', $Type: type.qualifiedName },
          ...parameters.map(parameter => ({
            $Name: parameter.name,
            $Type: parameter.type,
            ...(parameter.nullable ? { $Nullable: true } : {}),
          })),
        ],
        $ReturnType: { $Type: returns === 'entity' ? type.qualifiedName : returns },
      },
    ],
  ]);
  return Object.fromEntries(written);
}

function entityType(type: EntityType): CsdlValue {
  const members: Record<string, CsdlValue> = {};
  for (const property of type.properties) members[property.name] = structural(property);
  for (const navigation of type.navigation) members[navigation.name] = navigationProperty(navigation);
  return { $Kind: 'EntityType', $Key: [...type.key], ...members, ...annotations(type.annotations) };
}

function navigationProperty(navigation: NavigationProperty): CsdlValue {
  return {
    $Kind: 'NavigationProperty',
    $Type: navigation.target,
    ...(navigation.collection ? { $Collection: true } : { $Nullable: navigation.nullable }),
    ...annotations(navigation.annotations),
  };
}

function structural(property: Property): CsdlValue {
  const { type } = property;
  const collection = type.kind === 'collection';
  const item = collection ? type.of : type;
  return {
    $Type: item.name,
    ...(collection ? { $Collection: true } : {}),
    ...(property.nullable && !collection ? { $Nullable: true } : {}),
    ...(property.maxLength === undefined ? {} : { $MaxLength: property.maxLength }),
    ...(property.precision === undefined ? {} : { $Precision: property.precision }),
    ...(property.scale === undefined ? {} : { $Scale: property.scale }),
    ...annotations(property.annotations),
  };
}

function enumType(type: EnumType): CsdlValue {
  return {
    $Kind: 'EnumType',
    ...(type.flags ? { $IsFlags: true } : {}),
    ...Object.fromEntries(type.members.map(({ name, value }) => [name, Number(value)])),
  };
}

function annotations(given: Readonly<Record<string, CsdlValue>> | undefined): Record<string, CsdlValue> {
  return Object.fromEntries(Object.entries(given ?? {}).map(([term, value]) => [`@${term}`, value]));
}
