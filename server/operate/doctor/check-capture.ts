import { captureStatus, liveWalk, reconcile, strayCaptures } from '../../capture/index.ts';
import { type LiveWalk, type RecordSource, sampleUnknown, storedCounts } from '../../log/index.ts';
import type { RuleBook } from '../../visibility/index.ts';
import { type Finding, fail, ok, type TablePatient, warn } from './finding.ts';

/** So many rows show a gap that is worth the name. */
const sampleRows = 2_000;

/** Does every write to the tables leave its row? */
export async function checkCapture({ db, tables }: TablePatient): Promise<Finding[]> {
  const status = await captureStatus(db, tables);
  const findings = status.flatMap(({ resource, state, faults, notes }): Finding[] => {
    const noted = notes.map(note =>
      warn('capture', note, 'Run `pulsefeed reconcile` on a schedule.', resource),
    );
    if (state === 'installed') return [ok('capture', 'Capture is installed.', resource), ...noted];
    if (state === 'unsupported') {
      return [
        warn(
          'capture',
          faults.join(' '),
          'Run `pulsefeed reconcile` on a schedule, or report changes over POST /ingest.',
          resource,
        ),
      ];
    }
    return [
      fail(
        'capture',
        `Capture is ${state}. ${faults.join(' ')}`,
        'Run `pulsefeed capture install`, then `pulsefeed reconcile` for what was missed.',
        resource,
      ),
      ...noted,
    ];
  });
  const strays = await strayCaptures(db, tables);
  for (const place of new Set(strays.map(({ fn, table }) => table ?? `function pulsefeed.${fn}`))) {
    findings.push(
      warn(
        'capture',
        'Capture is left on what is no resource of this configuration now: its writes become events all the same.',
        'If they are not meant for the feed: `pulsefeed capture remove --strays`.',
        place,
      ),
    );
  }
  return findings;
}

/**
 * Has every record its event? Exactly for small tables and with `full`, else by a sample of the table's pages. Nothing
 * is said while the rules in force are not this configuration's: the check of the rules has said why.
 */
export async function checkRecords(patient: TablePatient, rules: RuleBook): Promise<Finding[]> {
  const active = await rules.load();
  if (active === undefined) return [];
  const stored = await storedCounts(patient.db);
  const findings: Finding[] = [];
  for (const table of patient.tables) {
    const { name } = table.config;
    const live = active.sources.find(({ resource }) => resource === name)?.live;
    const rows = await estimatedRows(patient, table.quoted);
    if (live === undefined) continue;
    findings.push(
      ...(patient.full || (rows ?? 0) <= patient.limits.exactRows
        ? await compared(patient, active.sources, name)
        : await sampled(patient, liveWalk(table, live), rows ?? 0, stored.get(name) ?? 0)),
    );
  }
  return findings;
}

/** The planner's estimate over the table and its partitions; undefined for views and foreign tables. */
async function estimatedRows({ db }: TablePatient, quoted: string): Promise<number | undefined> {
  const [row] = await db.query<{ rows: number | null }>({
    text: `
with recursive tree as (
  select $1::regclass::oid as oid
  union all
  select i.inhrelid from tree t join pg_catalog.pg_inherits i on i.inhparent = t.oid
)
select sum(case when c.reltuples >= 0 then c.reltuples
    -- Never analysed: a row takes a hundred bytes or so.
    else pg_relation_size(c.oid) / 100.0 end)::float8 as rows
from tree t
join pg_catalog.pg_class c on c.oid = t.oid
where c.relkind in ('r', 'm')`,
    values: [quoted],
  });
  return row?.rows ?? undefined;
}

async function compared(
  { db, tables }: TablePatient,
  sources: readonly RecordSource[],
  name: string,
): Promise<Finding[]> {
  const [result] = await reconcile({ db, tables, sources }, { resources: [name], dryRun: true });
  if (result === undefined) return [];
  const findings: Finding[] = [];
  if (result.fresh + result.gone > 0) {
    findings.push(
      fail(
        'records',
        `${result.fresh} of ${result.live} records have no event, ${result.gone} are gone without one (such as ${result.sample.join(', ')}).`,
        'Run `pulsefeed seed` before the first start, `pulsefeed reconcile` later. Changes that still wait in the outbox count too: look again.',
        name,
      ),
    );
  }
  if (result.tooLong > 0) {
    findings.push(
      warn(
        'records',
        `${result.tooLong} records have a key of more than 255 characters and are left out.`,
        'Publish a shorter key.',
        name,
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [ok('records', `All ${result.live} records have their event.`, name)];
}

async function sampled(
  { db }: TablePatient,
  walk: LiveWalk,
  rows: number,
  stored: number,
): Promise<Finding[]> {
  const name = walk.resource;
  const { seen, unknown } = await sampleUnknown(db, walk, (100 * sampleRows) / rows);
  const about = `about ${Math.round(rows)} rows, ${stored} with an event`;
  if (unknown > 0) {
    return [
      fail(
        'records',
        `${unknown} of ${seen} sampled records have no event (${about}).`,
        'Run `pulsefeed seed` before the first start, `pulsefeed reconcile` later.',
        name,
      ),
    ];
  }
  return [ok('records', `None of ${seen} sampled records lacks its event (${about}); --full counts.`, name)];
}
