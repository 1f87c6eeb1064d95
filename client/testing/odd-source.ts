import type { SourceRecord } from '../canonical.ts';
import type { Pulse } from '../page.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Key fields of the resources that the odd source has. `Numbered` has an Int64 key. */
export const KEY_FIELDS: Readonly<Record<string, string>> = {
  Office: 'OfficeKey',
  Member: 'MemberKey',
  Property: 'ListingKey',
  Media: 'MediaKey',
  Numbered: 'NumberedKey',
};

/** `$metadata` of the odd source: prefixes, an alias, a base type and a type definition, as found in the wild. */
export const METADATA = `<?xml version="1.0" encoding="utf-8"?>
<!-- <EntityType Name="NotThis"/> -->
<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="org.reso.metadata" Alias="R" xmlns="http://docs.oasis-open.org/odata/ns/edm">
<TypeDefinition Name="Money" UnderlyingType="Edm.Decimal"/>
<EnumType Name="Status"><Member Name="Active" Value="0"/></EnumType>
<EntityType Name="EntityEvent"><Key><PropertyRef Name="EntityEventSequence"/></Key>
<Property Name="EntityEventSequence" Type="Edm.Int64" Nullable="false"/><Property Name="ResourceName" Type="Edm.String"/>
<Property Name="ResourceRecordKey" Type="Edm.String"/></EntityType>
<EntityType Name="Stamped" Abstract="true"><Property Name="ModificationTimestamp" Type="Edm.DateTimeOffset"/></EntityType>
<EntityType Name="Office" BaseType="R.Stamped"><Key><PropertyRef Name="OfficeKey"/></Key><Property Name="OfficeKey" Type="Edm.String"/>
<Property Name="OfficeName" Type="Edm.String"/></EntityType>
<EntityType Name="Member" BaseType="R.Stamped"><Key><PropertyRef Name="MemberKey"/></Key><Property Name="MemberKey" Type="Edm.String"/>
<Property Name="OfficeKey" Type="Edm.String"/>
<NavigationProperty Name="Office" Type="R.Office"><ReferentialConstraint Property="OfficeKey" ReferencedProperty="OfficeKey"/></NavigationProperty></EntityType>
<EntityType Name="Property" BaseType="R.Stamped"><Key><PropertyRef Name="ListingKey"/></Key><Property Name='ListingKey' Type='Edm.String'/>
<Property Name="ListPrice" Type="R.Money"/><Property Name="SourceId" Type="Edm.Int64"/><Property Name="YearBuilt" Type="Edm.Int32"/>
<Property Name="StandardStatus" Type="R.Status"/><Property Name="Appliances" Type="Collection(Edm.String)"/><Property Name="WaterfrontYN" Type="Edm.Boolean"/>
<Property Name="Latitude" Type="Edm.Double"/><Property Name="ListingContractDate" Type="Edm.Date"/><Property Name="PublicRemarks" Type="Edm.String"/>
<NavigationProperty Name="Media" Type="Collection(R.Media)"/></EntityType>
<EntityType Name="Media" BaseType="R.Stamped"><Key><PropertyRef Name="MediaKey"/></Key><Property Name="MediaKey" Type="Edm.String"/>
<Property Name="ResourceRecordKey" Type="Edm.String"/></EntityType>
<EntityType Name="Numbered" BaseType="R.Stamped"><Key><PropertyRef Name="NumberedKey"/></Key><Property Name="NumberedKey" Type="Edm.Int64"/></EntityType>
<EntityContainer Name="C"><EntitySet Name="EntityEvent" EntityType="R.EntityEvent"/><EntitySet Name="Office" EntityType="R.Office"/>
<EntitySet Name="Media" EntityType="R.Media"/><EntitySet Name="Property" EntityType="org.reso.metadata.Property"/>
<EntitySet Name="Member" EntityType="R.Member"/><EntitySet Name="Numbered" EntityType="R.Numbered"/></EntityContainer>
</Schema></edmx:DataServices></edmx:Edmx>`;

/** Keys with every character that is hard somewhere between a client and a record. */
export const HARD_KEYS: readonly string[] = [
  "O'Brien",
  "''",
  'a/b',
  '/',
  '..',
  '.',
  'a\\b',
  '100%',
  '%27',
  '%2F',
  'a+b',
  'a&b=c',
  '#1',
  'a b',
  ' lead',
  'q?x',
  "x') or (true",
  'a,b',
  '"quoted"',
  'Straße',
  '東京',
  '🏠',
  'e\u0301',
  'a;b',
  '$filter',
  '@x',
  '(1)',
  '<tag>',
  '__proto__',
  'x'.repeat(255),
];

/**
 * A source in memory: records, and the log of their pulses. `removed` remembers every record that was ever absent after it had been
 * there, so that a test can tell a rightful delete from a wrong one.
 */
export class OddSource {
  readonly records = new Map<string, Map<string, SourceRecord>>();
  readonly log: Pulse[] = [];
  readonly removed = new Set<string>();
  readonly #random: SeededRandom;
  epoch = 'e1';
  head: bigint;

  /** `start` is the number before the first pulse. */
  constructor(random: SeededRandom, start = 0n) {
    this.#random = random;
    this.head = start;
    for (const resource of Object.keys(KEY_FIELDS)) this.records.set(resource, new Map());
  }

  /** Writes a record and pulses it. Numbers have gaps. */
  put(resource: string, key: string): void {
    this.records.get(resource)?.set(key, this.#record(resource, key));
    this.pulse(resource, key);
  }

  /** Removes a record and pulses it. */
  remove(resource: string, key: string): void {
    if (this.records.get(resource)?.delete(key)) this.removed.add(`${resource} ${key}`);
    this.pulse(resource, key);
  }

  /** Adds a pulse without a change. */
  pulse(resource: string, key: string): void {
    this.head += this.#random() < 0.1 ? 3n : 1n;
    this.log.push({ sequence: this.head, resource, key });
  }

  /** One edit by chance: mostly a change of what is there, sometimes a new record or a removal. */
  edit(): void {
    const names = Object.keys(KEY_FIELDS);
    const resource = names[Math.floor(this.#random() * names.length)] ?? 'Property';
    const keys = [...(this.records.get(resource)?.keys() ?? [])];
    const key = keys[Math.floor(this.#random() * keys.length)];
    const dice = this.#random();
    if (key === undefined || dice < 0.25) this.put(resource, this.newKey(resource));
    else if (dice < 0.4) this.remove(resource, key);
    else this.put(resource, key);
  }

  /** A key that was not used before, as far as chance allows. */
  newKey(resource: string): string {
    const number = Math.floor(this.#random() * 1e9);
    return resource === 'Numbered'
      ? `${9007199254740993n + BigInt(number)}`
      : `${resource.slice(0, 3)}-${number}`;
  }

  /** Fills every resource, parents first, with the hard keys among the keys of each. */
  fill(each: number): void {
    for (const resource of Object.keys(KEY_FIELDS)) {
      for (let n = 0; n < each; n++) this.put(resource, this.newKey(resource));
      if (resource !== 'Numbered') for (const key of HARD_KEYS) this.put(resource, key);
    }
  }

  /** Keeps only the last pulse of every record ("forward compaction"). */
  compact(): void {
    const last = new Map(this.log.map(pulse => [`${pulse.resource} ${pulse.key}`, pulse.sequence]));
    const kept = this.log.filter(pulse => last.get(`${pulse.resource} ${pulse.key}`) === pulse.sequence);
    this.log.splice(0, this.log.length, ...kept);
  }

  #record(resource: string, key: string): SourceRecord {
    const random = this.#random;
    const stamp = new Date(1.7e12 + Math.floor(random() * 1e10)).toISOString();
    const common = {
      ModificationTimestamp: stamp.replace('Z', `${Math.floor(random() * 1000)}Z`),
      Local_Note: `n${random()}`,
    };
    const field = KEY_FIELDS[resource] ?? 'Key';
    if (resource === 'Numbered') return { [field]: BigInt(key), ...common };
    if (resource !== 'Property') return { [field]: key, ...common };
    return {
      [field]: key,
      ...common,
      ListPrice: Math.floor(random() * 1e8) / 100,
      SourceId: 9007199254740993n + BigInt(Math.floor(random() * 1e6)) * 2n,
      YearBuilt: random() < 0.2 ? null : 1900 + Math.floor(random() * 120),
      StandardStatus: 'Active',
      Appliances: random() < 0.5 ? [] : ['Range "Oven"', '東京 🏠'],
      WaterfrontYN: random() < 0.5,
      Latitude: random() * 90,
      ListingContractDate: random() < 0.1 ? '0000-00-00' : '2024-02-29',
      PublicRemarks: `line\nbreak \u0000 ${random()}`,
    };
  }
}
