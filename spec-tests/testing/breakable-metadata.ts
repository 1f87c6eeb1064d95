import type { IsOn } from './switches.ts';

/** Field names and types of every entity set of the test server; the first field is the key. */
export const model: Record<string, Record<string, string>> = {
  EntityEvent: {
    EntityEventSequence: 'Edm.Int64',
    ResourceName: 'Edm.String',
    ResourceRecordKey: 'Edm.String',
    ResourceRecordUrl: 'Edm.String',
  },
  Property: {
    ListingKey: 'Edm.String',
    ListPrice: 'Edm.Decimal',
    CloseDate: 'Edm.Date',
    WaterfrontYN: 'Edm.Boolean',
    StandardStatus: 'org.reso.metadata.enums.StandardStatus',
    PropertyType: 'Edm.String',
    AccessibilityFeatures: 'Collection(Edm.String)',
    PublicRemarks: 'Edm.String',
    ModificationTimestamp: 'Edm.DateTimeOffset',
  },
  Member: {
    MemberKey: 'Edm.String',
    MemberFullName: 'Edm.String',
    ModificationTimestamp: 'Edm.DateTimeOffset',
  },
  Office: { OfficeKey: 'Edm.String', OfficeName: 'Edm.String', ModificationTimestamp: 'Edm.DateTimeOffset' },
  Media: {
    MediaKey: 'Edm.String',
    MediaCategory: 'Edm.String',
    ResourceName: 'Edm.String',
    ResourceRecordKey: 'Edm.String',
    ModificationTimestamp: 'Edm.DateTimeOffset',
  },
  Field: {
    FieldKey: 'Edm.String',
    ResourceName: 'Edm.String',
    FieldName: 'Edm.String',
    ModificationTimestamp: 'Edm.DateTimeOffset',
  },
  Lookup: {
    LookupKey: 'Edm.String',
    LookupName: 'Edm.String',
    LookupValue: 'Edm.String',
    ModificationTimestamp: 'Edm.DateTimeOffset',
  },
};

/** The metadata document of the test server, as CSDL XML. */
export function metadataXml(on: IsOn): string {
  const hidden = new Set<string>();
  if (on('no-standard-resource'))
    for (const name of ['Property', 'Member', 'Office', 'Media']) hidden.add(name);
  if (on('field-resource-missing')) hidden.add('Field');
  const names = Object.keys(model).filter(name => !hidden.has(name));
  const types = names.map(name => entityType(name, model[name] ?? {}, on)).join('');
  const sets = names
    .map(name => `<EntitySet Name="${name}" EntityType="org.reso.metadata.${name}"/>`)
    .join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx Version="4.01" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="org.reso.metadata" xmlns="http://docs.oasis-open.org/odata/ns/edm">${types}
<EntityContainer Name="RESO">${sets}</EntityContainer></Schema>
<Schema Namespace="org.reso.metadata.enums" xmlns="http://docs.oasis-open.org/odata/ns/edm">
<EnumType Name="StandardStatus"><Member Name="Active"/><Member Name="Closed"/></EnumType></Schema>
</edmx:DataServices></edmx:Edmx>`;
}

function entityType(name: string, fields: Record<string, string>, on: IsOn): string {
  const [key] = Object.keys(fields);
  const properties = Object.entries(fields).map(([field, type]) => {
    const written =
      on('metadata-sequence-as-string') && field === 'EntityEventSequence' ? 'Edm.String' : type;
    if (field !== 'PropertyType') return `<Property Name="${field}" Type="${written}"/>`;
    const lookup = '<Annotation Term="RESO.OData.Metadata.LookupName" String="PropertyType"/>';
    return `<Property Name="${field}" Type="${written}">${lookup}</Property>`;
  });
  const media = '<NavigationProperty Name="Media" Type="Collection(org.reso.metadata.Media)"/>';
  return `<EntityType Name="${name}"><Key><PropertyRef Name="${key}"/></Key>${properties.join('')}${name === 'Property' ? media : ''}</EntityType>\n`;
}
