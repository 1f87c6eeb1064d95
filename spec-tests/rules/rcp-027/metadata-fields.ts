import { fail, pass, type Rule } from '../../rule.ts';

const wanted = {
  EntityEventSequence: 'Edm.Int64',
  ResourceName: 'Edm.String',
  ResourceRecordKey: 'Edm.String',
};

/** RCP-027, Certification, first item; Data Dictionary 2.0, EntityEvent. */
export const rule: Rule = {
  id: 'rcp-027/metadata-fields',
  covers: ['RCP-027.20a'],
  clause: 'The metadata declares EntityEvent with its three required fields, the sequence being its key.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata',
  expects:
    'EntityEventSequence as Edm.Int64 and the only key, ResourceName and ResourceRecordKey as Edm.String.',
  async check(context) {
    const service = await context.service();
    const type = service.sets.get('EntityEvent');
    if (type === undefined) {
      return fail('the metadata has no entity set EntityEvent', 'Declare EntityEvent.', [service.exchange]);
    }
    const faults = Object.entries(wanted)
      .filter(([name, edm]) => type.fields.get(name)?.type !== edm)
      .map(([name, edm]) => `${name} is ${type.fields.get(name)?.type ?? 'absent'}, not ${edm}`);
    if (type.keys.join() !== 'EntityEventSequence') faults.push(`the key is (${type.keys.join()})`);
    if (faults.length > 0) {
      return fail(faults.join('; '), 'Declare the fields as the Data Dictionary does.', [service.exchange]);
    }
    return pass('the three fields and the key are declared', [service.exchange]);
  },
};
