import { keyText, matchKey, type ResourceTable } from '../base/catalog/index.ts';
import { type ResourceConfig, rankResources } from '../base/config/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import type { LiveTable, RecordSource } from '../log/index.ts';

/** How the sequencer is to look at each configured resource; every record that is there belongs to everyone. */
export function recordSources(
  resources: readonly ResourceConfig[],
  tables: readonly ResourceTable[],
): RecordSource[] {
  const { rank } = rankResources(resources);
  return resources.map(resource => {
    const table = tables.find(({ config }) => config.name === resource.name);
    const slot = (resource.parents ?? []).findIndex(parent => parent.resource === resource.name);
    return {
      resource: resource.name,
      rank: rank.get(resource.name) ?? 0,
      ...(slot === -1 ? {} : { selfParentSlot: slot + 1 }),
      ...(table === undefined ? {} : { live: liveTable(table) }),
    };
  });
}

function liveTable(table: ResourceTable): LiveTable {
  const parents = (table.config.parents ?? []).map(parent => `t.${quoteIdentifier(parent.column)}::text`);
  return {
    table: table.quoted,
    match: key => matchKey(table, 't', key),
    parents: parents.length === 0 ? 'null::text[]' : `array[${parents.join(', ')}]`,
    feeds: `'{1}'::integer[]`,
    key: keyText(table, 't'),
  };
}
