/** A value of a row as it travels to the database in JSON. */
export type SampleValue = string | number | boolean | null | readonly string[];

/** One row: column name to value; columns that are left out are null. */
export type SampleRow = Readonly<Record<string, SampleValue>>;

/** The tables, parents before children. */
export const sampleTables = ['office', 'member', 'property', 'media', 'open_house'] as const;

export type SampleTable = (typeof sampleTables)[number];

/** The tables of the sample MLS: column names are those of the RESO Data Dictionary 2.0. */
export const createTables = `
create table public.office (
  "OfficeKey" varchar(255) primary key,
  "OfficeMlsId" varchar(25) not null,
  "OfficeName" varchar(255) not null,
  "OfficeStatus" varchar(25) not null,
  "OfficeType" varchar(50),
  "OfficeBranchType" varchar(50),
  "MainOfficeKey" varchar(255),
  "OfficeAddress1" varchar(50),
  "OfficeCity" varchar(50),
  "OfficeStateOrProvince" varchar(2),
  "OfficePostalCode" varchar(10),
  "OfficePhone" varchar(16),
  "OfficeEmail" varchar(80),
  "IDXOfficeParticipationYN" boolean,
  "OriginalEntryTimestamp" timestamptz(3) not null,
  "ModificationTimestamp" timestamptz(3) not null
);
create table public.member (
  "MemberKey" varchar(255) primary key,
  "MemberMlsId" varchar(25) not null,
  "MemberFirstName" varchar(50),
  "MemberLastName" varchar(50),
  "MemberFullName" varchar(150) not null,
  "MemberStatus" varchar(25) not null,
  "MemberType" varchar(50),
  "MemberEmail" varchar(80),
  "MemberDirectPhone" varchar(16),
  "MemberCity" varchar(50),
  "MemberStateOrProvince" varchar(2),
  "MemberStateLicense" varchar(50),
  "MemberLanguages" text[],
  "OfficeKey" varchar(255) not null,
  "OfficeMlsId" varchar(25),
  "OfficeName" varchar(255),
  "OriginalEntryTimestamp" timestamptz(3) not null,
  "ModificationTimestamp" timestamptz(3) not null
);
create table public.property (
  "ListingKey" varchar(255) primary key,
  "ListingId" varchar(255) not null,
  "StandardStatus" varchar(25) not null,
  "MlsStatus" varchar(50),
  "PropertyType" varchar(50),
  "PropertySubType" varchar(50),
  "ListPrice" numeric(14,2) not null,
  "OriginalListPrice" numeric(14,2),
  "PreviousListPrice" numeric(14,2),
  "ClosePrice" numeric(14,2),
  "ListingContractDate" date,
  "PurchaseContractDate" date,
  "CloseDate" date,
  "WithdrawnDate" date,
  "StreetNumber" varchar(25),
  "StreetName" varchar(50),
  "StreetSuffix" varchar(25),
  "UnitNumber" varchar(25),
  "UnparsedAddress" varchar(255),
  "City" varchar(50),
  "CountyOrParish" varchar(50),
  "StateOrProvince" varchar(2),
  "PostalCode" varchar(10),
  "Country" varchar(2),
  "Latitude" numeric(12,8),
  "Longitude" numeric(12,8),
  "BedroomsTotal" integer,
  "BathroomsTotalInteger" integer,
  "BathroomsFull" integer,
  "BathroomsHalf" integer,
  "LivingArea" numeric(14,2),
  "LivingAreaUnits" varchar(25),
  "LotSizeSquareFeet" numeric(14,2),
  "YearBuilt" integer,
  "StoriesTotal" integer,
  "GarageSpaces" numeric(14,2),
  "Appliances" text[],
  "Heating" text[],
  "Cooling" text[],
  "Flooring" text[],
  "View" text[],
  "WaterfrontYN" boolean,
  "AssociationFee" numeric(14,2),
  "TaxAnnualAmount" numeric(14,2),
  "PublicRemarks" text,
  "ListAgentKey" varchar(255) not null,
  "ListAgentFullName" varchar(150),
  "ListOfficeKey" varchar(255) not null,
  "ListOfficeName" varchar(255),
  "BuyerAgentKey" varchar(255),
  "BuyerOfficeKey" varchar(255),
  "PhotosCount" integer not null,
  "PhotosChangeTimestamp" timestamptz(3),
  "PriceChangeTimestamp" timestamptz(3),
  "StatusChangeTimestamp" timestamptz(3),
  "MajorChangeType" varchar(255),
  "InternetEntireListingDisplayYN" boolean not null,
  "InternetAddressDisplayYN" boolean,
  "OriginalEntryTimestamp" timestamptz(3) not null,
  "ModificationTimestamp" timestamptz(3) not null
);
create table public.media (
  "MediaKey" varchar(255) primary key,
  "ResourceName" varchar(50) not null,
  "ResourceRecordKey" varchar(255) not null,
  "ResourceRecordID" varchar(255),
  "MediaCategory" varchar(50),
  "MediaType" varchar(50),
  "MediaURL" text not null,
  "Order" integer not null,
  "PreferredPhotoYN" boolean,
  "ImageOf" varchar(50),
  "ImageWidth" integer,
  "ImageHeight" integer,
  "ShortDescription" varchar(50),
  "ModificationTimestamp" timestamptz(3) not null,
  "MediaModificationTimestamp" timestamptz(3) not null
);
create table public.open_house (
  "OpenHouseKey" varchar(255) primary key,
  "OpenHouseId" varchar(255),
  "ListingKey" varchar(255) not null,
  "ListingId" varchar(255),
  "OpenHouseDate" date,
  "OpenHouseStartTime" timestamptz(3),
  "OpenHouseEndTime" timestamptz(3),
  "OpenHouseStatus" varchar(25),
  "OpenHouseType" varchar(25),
  "OpenHouseRemarks" text,
  "Refreshments" varchar(255),
  "ShowingAgentKey" varchar(255),
  "OriginalEntryTimestamp" timestamptz(3) not null,
  "ModificationTimestamp" timestamptz(3) not null
);
`;

/** References and their indexes; made after the rows, since checking them at once is faster than row by row. */
export const createReferences = `
alter table public.office add foreign key ("MainOfficeKey") references public.office;
alter table public.member add foreign key ("OfficeKey") references public.office;
alter table public.property
  add foreign key ("ListOfficeKey") references public.office,
  add foreign key ("ListAgentKey") references public.member,
  add foreign key ("BuyerOfficeKey") references public.office,
  add foreign key ("BuyerAgentKey") references public.member;
alter table public.media add foreign key ("ResourceRecordKey") references public.property on delete cascade;
alter table public.open_house
  add foreign key ("ListingKey") references public.property on delete cascade,
  add foreign key ("ShowingAgentKey") references public.member;
create index office_main on public.office ("MainOfficeKey");
create index member_office on public.member ("OfficeKey");
create index property_list_office on public.property ("ListOfficeKey");
create index property_list_agent on public.property ("ListAgentKey");
create index property_buyer_office on public.property ("BuyerOfficeKey");
create index property_buyer_agent on public.property ("BuyerAgentKey");
create index media_record on public.media ("ResourceRecordKey", "Order");
create index open_house_listing on public.open_house ("ListingKey");
create index open_house_agent on public.open_house ("ShowingAgentKey");
`;
