import type { Edit, EditScene } from './edit-scene.ts';
import { pickPhone, placeOf } from './places.ts';
import type { Agent } from './roster.ts';
import { memberKey, officeKey, rosterSize } from './sample-keys.ts';

/** Any agent, with the office that the agent belongs to now. */
export async function pickAgent({ tx, chance, state }: EditScene): Promise<Agent | undefined> {
  const key = memberKey(chance.below(rosterSize(state.listings).members));
  const [agent] = await tx.query<Agent>({
    text: `select m."MemberKey" as key, m."MemberFullName" as "fullName", o."OfficeKey" as "officeKey",
        o."OfficeName" as "officeName", o."OfficeCity" as city
      from public.member m join public.office o on o."OfficeKey" = m."OfficeKey" where m."MemberKey" = $1`,
    values: [key],
  });
  return agent;
}

/** An agent changes office and takes the listings along that are not settled. */
export const moveAgent: Edit = async scene => {
  const { tx, chance, state, now } = scene;
  const agent = await pickAgent(scene);
  const office = await pickOffice(scene, chance.below(rosterSize(state.listings).offices));
  if (agent === undefined || office === undefined || agent.officeKey === office.key) return undefined;
  await tx.query({
    text: `update public.member set "OfficeKey" = $2, "OfficeName" = $3, "OfficeMlsId" = $4, "ModificationTimestamp" = $5
      where "MemberKey" = $1`,
    values: [agent.key, office.key, office.name, office.mlsId, now],
  });
  const moved = await tx.query({
    text: `update public.property set "ListOfficeKey" = $2, "ListOfficeName" = $3, "ModificationTimestamp" = $4
      where "ListAgentKey" = $1 and "StandardStatus" not in ('Closed', 'Canceled', 'Expired')
      returning 1`,
    values: [agent.key, office.key, office.name, now],
  });
  return { text: `${agent.fullName} joins ${office.name} with ${moved.length} listings` };
};

/** An office gets another telephone number. */
export const changeOfficePhone: Edit = async scene => {
  const { tx, chance, state, now } = scene;
  const office = await pickOffice(scene, chance.below(rosterSize(state.listings).offices));
  if (office === undefined) return undefined;
  const phone = pickPhone(chance, placeOf(office.city).areaCode);
  await tx.query({
    text: 'update public.office set "OfficePhone" = $2, "ModificationTimestamp" = $3 where "OfficeKey" = $1',
    values: [office.key, phone, now],
  });
  return { text: `${office.name} is reached at ${phone} now` };
};

interface OfficeFacts {
  readonly key: string;
  readonly name: string;
  readonly mlsId: string;
  readonly city: string;
}

async function pickOffice({ tx }: EditScene, number: number): Promise<OfficeFacts | undefined> {
  const [office] = await tx.query<OfficeFacts>({
    text: `select "OfficeKey" as key, "OfficeName" as name, "OfficeMlsId" as "mlsId", "OfficeCity" as city
      from public.office where "OfficeKey" = $1`,
    values: [officeKey(number)],
  });
  return office;
}
