import type { ResourceTable } from '../base/catalog/index.ts';
import type { Queryable } from '../base/db/index.ts';
import {
  type FunctionRow,
  type InstalledRow,
  type RelationRow,
  readFunction,
  readInstalled,
  readRelations,
  readTriggers,
  type TriggerRow,
} from './catalog-sql.ts';
import { functionBody, functionSettings } from './function-sql.ts';
import { captureNames } from './names.ts';

/**
 * installed: every write leaves its row. missing: a trigger is not there. disabled: it is there and switched off.
 * different: it is there and does not do what this version installs. unsupported: no trigger can see the changes.
 */
export type CaptureState = 'installed' | 'missing' | 'disabled' | 'different' | 'unsupported';

/** How capture stands on one resource's table. */
export interface CaptureStatus {
  readonly resource: string;
  readonly table: string;
  readonly state: CaptureState;
  /** What is wrong, one sentence each; empty when installed. */
  readonly faults: readonly string[];
  /** True for what no second install would change, such as a foreign partition. */
  readonly notes: readonly string[];
}

/** What the catalog says about one table's capture. */
export interface Found {
  readonly relations: readonly RelationRow[];
  readonly triggers: readonly TriggerRow[];
  readonly fn: FunctionRow | undefined;
}

/** pg_trigger.tgtype of an AFTER ROW trigger on insert, update and delete, and of an AFTER TRUNCATE one. */
const rowType = 1 | 4 | 8 | 16;
const truncateType = 32;

/** A trigger that should be on a relation and is not, or not as it should be. */
export interface TriggerFault {
  readonly relation: RelationRow;
  readonly trigger: 'row' | 'truncate';
  /** What has to be done about it. */
  readonly cure: 'create' | 'enable';
  readonly state: 'missing' | 'disabled' | 'different';
  readonly text: string;
}

/** Reads the catalog for one table. */
export async function readCapture(db: Queryable, table: ResourceTable): Promise<Found> {
  const names = captureNames(table.config.name);
  const relations = await db.query<RelationRow>(readRelations(table.schema, table.name));
  const oids = relations.map(({ oid }) => oid);
  const triggers = await db.query<TriggerRow>(readTriggers(oids, [names.row, names.truncate]));
  const [fn] = await db.query<FunctionRow>(readFunction(names.fn));
  return { relations, triggers, fn };
}

/** How capture stands on each table, in the order of the tables. */
export async function captureStatus(
  db: Queryable,
  tables: readonly ResourceTable[],
): Promise<CaptureStatus[]> {
  const all: CaptureStatus[] = [];
  for (const table of tables) all.push(judge(table, await readCapture(db, table)));
  return all;
}

/** Trigger functions and triggers of ours that belong to none of the tables, such as one that was renamed away. */
export async function strayCaptures(
  db: Queryable,
  tables: readonly ResourceTable[],
): Promise<InstalledRow[]> {
  const known = new Map<string, Set<string>>();
  for (const table of tables) {
    const { relations } = await readCapture(db, table);
    known.set(captureNames(table.config.name).fn, new Set(relations.map(({ oid }) => oid)));
  }
  const installed = await db.query<InstalledRow>(readInstalled);
  return installed.filter(({ fn, oid }) => {
    const relations = known.get(fn);
    return relations === undefined || (oid !== null && !relations.has(oid));
  });
}

/** Compares what is there with what this version installs. */
export function judge(table: ResourceTable, found: Found): CaptureStatus {
  const base = { resource: table.config.name, table: table.config.table };
  const [self] = found.relations;
  if (self === undefined) {
    return { ...base, state: 'missing', faults: ['The table does not exist.'], notes: [] };
  }
  const unsupported = whyUnsupported(self.kind);
  if (unsupported !== undefined) return { ...base, state: 'unsupported', faults: [unsupported], notes: [] };
  const faults = triggerFaults(table, found);
  const notes = found.relations
    .filter(({ kind, level }) => kind === 'f' && level > 0)
    .map(({ schema, name }) => `${schema}.${name} is a foreign table: changes made elsewhere are not seen.`);
  const fnFaults = functionFaults(table, found.fn);
  const texts = [...fnFaults, ...faults.map(({ text }) => text)];
  return { ...base, state: stateOf(faults, fnFaults, found.fn), faults: texts, notes };
}

function stateOf(
  faults: readonly TriggerFault[],
  fnFaults: readonly string[],
  fn: FunctionRow | undefined,
): CaptureState {
  // The table's own triggers decide; what is wrong on partitions alone is a difference.
  const own = faults.filter(({ relation }) => relation.level === 0);
  if (fn === undefined || own.some(({ state }) => state === 'missing')) return 'missing';
  if (own.some(({ state }) => state === 'disabled')) return 'disabled';
  return faults.length + fnFaults.length === 0 ? 'installed' : 'different';
}

function whyUnsupported(kind: string): string | undefined {
  const way = 'Run `pulsefeed reconcile` on a schedule, or report changes over POST /ingest.';
  if (kind === 'f') return `It is a foreign table: no trigger sees changes made on the other server. ${way}`;
  if (kind === 'v' || kind === 'm') {
    return `It is a view: no trigger sees the changes of the tables behind it. ${way}`;
  }
  return undefined;
}

/** What is wrong with the trigger function. */
export function functionFaults(table: ResourceTable, fn: FunctionRow | undefined): string[] {
  const name = `pulsefeed.${captureNames(table.config.name).fn}()`;
  if (fn === undefined) return [`Function ${name} is missing.`];
  const same =
    fn.body === functionBody(table) &&
    fn.definer &&
    fn.language === 'plpgsql' &&
    JSON.stringify(fn.settings) === JSON.stringify(functionSettings(table));
  const faults: string[] = [];
  if (!same) faults.push(`Function ${name} is not the one that this version installs.`);
  if (!fn.may_write) {
    faults.push(
      `Function ${name} belongs to ${fn.owner}, who may not write to the outbox: writes to the table fail.`,
    );
  }
  return faults;
}

/** The triggers that should be there, relation by relation, and what is wrong with them. */
export function triggerFaults(table: ResourceTable, found: Found): TriggerFault[] {
  const names = captureNames(table.config.name);
  const faults: TriggerFault[] = [];
  for (const relation of found.relations) {
    for (const trigger of ['row', 'truncate'] as const) {
      // A foreign table fires for what is written through this server; before version 16 it has no truncate trigger.
      if (relation.kind === 'f' && (trigger === 'truncate' || !relation.partition)) continue;
      const there = found.triggers.find(({ oid, name }) => oid === relation.oid && name === names[trigger]);
      const fault = triggerFault(relation, trigger, `pulsefeed.${names.fn}`, there);
      if (fault !== undefined) faults.push(fault);
    }
  }
  return faults;
}

function triggerFault(
  relation: RelationRow,
  trigger: 'row' | 'truncate',
  fn: string,
  there: TriggerRow | undefined,
): TriggerFault | undefined {
  const where = `on ${relation.schema}.${relation.name}`;
  const what = trigger === 'row' ? 'The trigger for changed rows' : 'The trigger for TRUNCATE';
  const fault = (cure: TriggerFault['cure'], state: TriggerFault['state'], text: string): TriggerFault => ({
    relation,
    trigger,
    cure,
    state,
    text: `${what} ${where} ${text}`,
  });
  if (there === undefined) return fault('create', 'missing', 'is missing.');
  if (there.type !== (trigger === 'row' ? rowType : truncateType) || there.fn !== fn || there.conditional) {
    return fault('create', 'different', 'is not the one that this version installs.');
  }
  switch (there.enabled) {
    case 'A':
      return undefined;
    case 'D':
      return fault('enable', 'disabled', 'is disabled.');
    default:
      return fault(
        'enable',
        'different',
        there.enabled === 'R'
          ? 'fires for replicated changes only.'
          : 'does not fire for replicated changes (session_replication_role = replica).',
      );
  }
}
