import { chance } from './chance.ts';
import { firmName, pickPerson } from './names.ts';
import { type Place, pickPhone, pickPlace, pickStreet } from './places.ts';
import { memberKey, officeKey, rosterSize } from './sample-keys.ts';
import { ago, baseTime } from './sample-time.ts';
import type { SampleRow } from './tables.ts';

/** What a listing needs to know of its agent. */
export interface Agent {
  readonly key: string;
  readonly fullName: string;
  readonly officeKey: string;
  readonly officeName: string;
  /** Where the office is; most of the agent's listings are there too. */
  readonly city: string;
}

interface Office {
  readonly key: string;
  readonly mlsId: string;
  readonly name: string;
  readonly place: Place;
  readonly row: SampleRow;
}

/** Offices and members of the sample, as rows and as what listings refer to. */
export interface Roster {
  readonly offices: readonly SampleRow[];
  readonly members: readonly SampleRow[];
  readonly agents: readonly Agent[];
}

const branchEvery = 4;

/** Makes the roster that belongs to so many listings. */
export function makeRoster(seed: number, listings: number): Roster {
  const size = rosterSize(listings);
  const offices: Office[] = [];
  for (let number = 0; number < size.offices; number += 1) {
    // Every fourth office is a branch of the one three before it.
    const place = number % branchEvery;
    const main = place === branchEvery - 1 ? offices[number - place] : undefined;
    const hasBranch = place === 0 && number + branchEvery <= size.offices;
    offices.push(makeOffice(seed, number, main, hasBranch));
  }
  const agents: Agent[] = [];
  const members: SampleRow[] = [];
  for (let number = 0; number < size.members; number += 1) {
    const draw = chance(seed, 'office-of', number);
    // Each office has somebody; beyond that the early ones are the larger ones.
    const index =
      number < size.offices ? number : Math.min(draw.below(size.offices), draw.below(size.offices));
    const office = offices[index];
    if (office === undefined) throw new Error(`The sample has no office ${index}.`);
    const { agent, row } = makeMember(seed, number, office);
    agents.push(agent);
    members.push(row);
  }
  return { offices: offices.map(({ row }) => row), members, agents };
}

function makeOffice(seed: number, number: number, main: Office | undefined, hasBranch: boolean): Office {
  const draw = chance(seed, 'office', number);
  const place = pickPlace(draw);
  const street = pickStreet(draw);
  const key = officeKey(number);
  const mlsId = String(4_000 + number);
  const firm = number - Math.floor(number / branchEvery);
  const name = main === undefined ? firmName(draw, firm) : `${main.name} - ${place.city}`;
  const entered = ago(baseTime, draw.between(400, 6_000), draw);
  const branchType = main === undefined ? (hasBranch ? 'Main' : 'Stand Alone') : 'Branch';
  const row = {
    OfficeKey: key,
    OfficeMlsId: mlsId,
    OfficeName: name,
    OfficeStatus: 'Active',
    OfficeType: main === undefined ? 'Realtor Firm' : 'Realtor Branch Office',
    OfficeBranchType: branchType,
    MainOfficeKey: main?.key ?? null,
    OfficeAddress1: `${street.number} ${street.name} ${street.suffix}`,
    OfficeCity: place.city,
    OfficeStateOrProvince: 'WA',
    OfficePostalCode: draw.pick(place.postalCodes),
    OfficePhone: pickPhone(draw, place.areaCode),
    OfficeEmail: `office${mlsId}@example.com`,
    IDXOfficeParticipationYN: draw.happens(0.93),
    OriginalEntryTimestamp: entered,
    ModificationTimestamp: ago(baseTime, draw.between(1, 390), draw),
  };
  return { key, mlsId, name, place, row };
}

function makeMember(seed: number, number: number, office: Office): { agent: Agent; row: SampleRow } {
  const draw = chance(seed, 'member', number);
  const person = pickPerson(draw);
  const key = memberKey(number);
  const mlsId = String(70_000 + number);
  const row = {
    MemberKey: key,
    MemberMlsId: mlsId,
    MemberFirstName: person.first,
    MemberLastName: person.last,
    MemberFullName: person.full,
    MemberStatus: 'Active',
    MemberType: draw.weighted([
      ['REALTOR Salesperson', 80],
      ['REALTOR Broker Associate', 15],
      ['MLS Only Salesperson', 5],
    ]),
    MemberEmail: `agent${mlsId}@example.com`,
    MemberDirectPhone: pickPhone(draw, office.place.areaCode),
    MemberCity: office.place.city,
    MemberStateOrProvince: 'WA',
    MemberStateLicense: String(draw.between(10_000, 139_999)),
    MemberLanguages: person.languages,
    OfficeKey: office.key,
    OfficeMlsId: office.mlsId,
    OfficeName: office.name,
    OriginalEntryTimestamp: ago(baseTime, draw.between(400, 4_000), draw),
    ModificationTimestamp: ago(baseTime, draw.between(1, 390), draw),
  };
  const agent = {
    key,
    fullName: person.full,
    officeKey: office.key,
    officeName: office.name,
    city: office.place.city,
  };
  return { agent, row };
}
