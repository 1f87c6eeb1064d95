import type { ResourceConfig } from '../base/config/index.ts';

/** The resources of the sample MLS, as a provider would write them into pulsefeed.config.json. */
export const demoResources: ResourceConfig[] = [
  {
    name: 'Office',
    table: 'public.office',
    key: 'OfficeKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'MainOfficeKey' }],
  },
  {
    name: 'Member',
    table: 'public.member',
    key: 'MemberKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'OfficeKey' }],
  },
  {
    name: 'Property',
    table: 'public.property',
    key: 'ListingKey',
    modified: 'ModificationTimestamp',
    parents: [
      { resource: 'Office', column: 'ListOfficeKey' },
      { resource: 'Member', column: 'ListAgentKey' },
    ],
  },
  {
    name: 'Media',
    table: 'public.media',
    key: 'MediaKey',
    modified: 'MediaModificationTimestamp',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
  {
    name: 'OpenHouse',
    table: 'public.open_house',
    key: 'OpenHouseKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Property', column: 'ListingKey' }],
  },
];
