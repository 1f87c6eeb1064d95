/**
 * What the RESO Data Dictionary calls resources, their keys, and the columns that name a parent; with words by which
 * providers call the tables. Names are compared in lower case without underscores.
 */
export interface ResourceNames {
  readonly resource: string;
  /** Key fields, the standard one first. */
  readonly keys: readonly string[];
  /** Words for the table. */
  readonly tables: readonly string[];
}

export const resourceNames: readonly ResourceNames[] = [
  row('Property', ['ListingKey', 'ListingKeyNumeric'], ['property', 'properties', 'listing', 'listings']),
  row('Member', ['MemberKey', 'MemberKeyNumeric'], ['member', 'members', 'agent', 'agents']),
  row('Office', ['OfficeKey', 'OfficeKeyNumeric'], ['office', 'offices']),
  row('Media', ['MediaKey', 'MediaKeyNumeric'], ['media', 'photo', 'photos', 'image', 'images']),
  row('OpenHouse', ['OpenHouseKey', 'OpenHouseKeyNumeric'], ['openhouse', 'openhouses']),
  row('ShowingAppointment', ['ShowingAppointmentKey'], ['showingappointment', 'showingappointments']),
  row('ShowingAvailability', ['ShowingAvailabilityKey'], ['showingavailability']),
  row('ShowingRequest', ['ShowingRequestKey'], ['showingrequest', 'showingrequests']),
  row('Showing', ['ShowingKey'], ['showing', 'showings']),
  row('PropertyRooms', ['RoomKey'], ['propertyrooms', 'propertyroom', 'rooms', 'room']),
  row('PropertyUnitTypes', ['UnitTypeKey'], ['propertyunittypes', 'propertyunittype', 'unittypes', 'units']),
  row(
    'PropertyGreenVerification',
    ['GreenBuildingVerificationKey'],
    ['propertygreenverification', 'greenverification'],
  ),
  row('PropertyPowerProduction', ['PowerProductionKey'], ['propertypowerproduction', 'powerproduction']),
  row('Teams', ['TeamKey'], ['teams', 'team']),
  row('TeamMembers', ['TeamMemberKey'], ['teammembers', 'teammember']),
  row('Contacts', ['ContactKey'], ['contacts', 'contact']),
  row('ContactListings', ['ContactListingsKey'], ['contactlistings', 'contactlisting']),
  row('ContactListingNotes', ['ContactListingNotesKey'], ['contactlistingnotes']),
  row('SavedSearch', ['SavedSearchKey'], ['savedsearch', 'savedsearches']),
  row('Prospecting', ['ProspectingKey'], ['prospecting']),
  row('HistoryTransactional', ['HistoryTransactionalKey'], ['historytransactional', 'history']),
  row('InternetTracking', ['EventKey'], ['internettracking']),
  row('OUID', ['OrganizationUniqueIdKey'], ['ouid', 'organization', 'organizations']),
  row('Association', ['AssociationKey'], ['association', 'associations']),
  row('Rules', ['RuleKey'], ['rules']),
  row('Queue', ['QueueTransactionKey'], ['queue']),
  row('SocialMedia', ['SocialMediaKey'], ['socialmedia', 'mediasocial']),
  row('OtherPhone', ['OtherPhoneKey'], ['otherphone', 'otherphones']),
  row('Caravan', ['CaravanKey'], ['caravan', 'caravans']),
  row('CaravanStop', ['CaravanStopKey'], ['caravanstop', 'caravanstops']),
  row('LockOrBox', ['LockOrBoxKey'], ['lockorbox', 'lockbox', 'lockboxes']),
  row('TransactionManagement', ['TransactionKey'], ['transactionmanagement']),
];

/** A column that names a parent. Of two that form a cycle, the one with the smaller strength is left out. */
export interface ParentNames {
  readonly column: string;
  readonly parent: string;
  readonly strength: number;
}

/** Parents that a resource names by columns of its own; any other resource's key as a column counts besides. */
export const parentNames: Readonly<Record<string, readonly ParentNames[]>> = {
  Property: [
    { column: 'ListOfficeKey', parent: 'Office', strength: 9 },
    { column: 'ListAgentKey', parent: 'Member', strength: 8 },
  ],
  Member: [{ column: 'OfficeKey', parent: 'Office', strength: 9 }],
  Office: [
    { column: 'MainOfficeKey', parent: 'Office', strength: 9 },
    { column: 'OfficeBrokerKey', parent: 'Member', strength: 2 },
    { column: 'OfficeManagerKey', parent: 'Member', strength: 1 },
  ],
  Teams: [{ column: 'TeamLeadKey', parent: 'Member', strength: 5 }],
};

/** Columns that together name a record of any resource. */
export const anyParent = { key: 'ResourceRecordKey', resource: 'ResourceName' } as const;

/** Columns with the time of the last change, the best first. */
export const modifiedNames: readonly string[] = [
  'ModificationTimestamp',
  'MediaModificationTimestamp',
  'ChangedByModificationTimestamp',
  'LastModificationTimestamp',
  'ModifiedTimestamp',
  'UpdatedTimestamp',
  'ModificationDate',
  'ModifiedAt',
  'UpdatedAt',
  'LastModifiedAt',
  'LastUpdatedAt',
  'ModifiedOn',
  'UpdatedOn',
  'LastModified',
  'LastUpdated',
  'LastUpdate',
  'Modified',
  'Updated',
  'DateModified',
  'DateUpdated',
  'LastModifiedDate',
  'UpdateDate',
  'mtime',
];

/** Lower case without underscores, spaces and hyphens: ListingKey, listing_key and LISTINGKEY are one. */
export function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[_\s-]/g, '');
}

function row(resource: string, keys: readonly string[], tables: readonly string[]): ResourceNames {
  return { resource, keys, tables };
}
