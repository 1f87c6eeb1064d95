import { setTimeout as delay } from 'node:timers/promises';
import { pendingMigrations } from '../../base/db/index.ts';
import { digestOf, type HeadHolder, type LogHealth, pendingCap, readLogHealth } from '../../log/index.ts';
import { type Finding, fail, ok, type Patient, span, warn } from './finding.ts';

/** Is the schema there and up to date? */
export async function checkMigrations({ db }: Patient): Promise<Finding[]> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return [ok('migrations', 'The schema is up to date.')];
  return [
    fail(
      'migrations',
      `Migrations still to run: ${pending.join(', ')}.`,
      'Run `pulsefeed migrate` with a role that may create tables.',
    ),
  ];
}

/** Does this configuration say the same as the rules in the database? */
export async function checkRules({ db, config }: Patient): Promise<Finding[]> {
  const { digest, ruleVersion } = await readLogHealth(db);
  if (digest === digestOf({ resources: config.resources })) {
    return [ok('rules', `This configuration is the one in the database (version ${ruleVersion}).`)];
  }
  return [
    fail(
      'rules',
      digest === null
        ? 'No resources were published to the database: nothing is numbered.'
        : 'This configuration names other resources than the database does: a process started with it numbers nothing.',
      'If this configuration is the right one, run `pulsefeed migrate` and restart the others; else give this machine the right file.',
    ),
  ];
}

/** Do changes wait too long, and if so, what keeps the sequencer? */
export async function checkOutbox(patient: Patient): Promise<Finding[]> {
  const { db, limits, config } = patient;
  const health = await readLogHealth(db);
  const findings: Finding[] = [];
  const { oldestMs, pending } = health;
  const { maxLagMs } = config.settings;
  const late = oldestMs !== null && oldestMs > maxLagMs;
  const stage = health.batchStage;
  if (!late && stage === null) {
    return [
      ok(
        'outbox',
        pending === 0
          ? `No change waits; the head is ${health.head}.`
          : `${pending} changes wait, the oldest for ${span(oldestMs ?? 0)}.`,
      ),
    ];
  }
  // One look cannot tell slow from stuck.
  await delay(limits.watchMs);
  const later = await readLogHealth(db);
  const moves = later.progress !== health.progress;
  if (late) findings.push(outboxFinding(health, moves));
  if (stage !== null && later.batchStage !== null) findings.push(batchFinding(stage, moves));
  if (!moves) findings.push(...(await sequencerFindings(patient, later)));
  return findings;
}

function outboxFinding({ pending, oldestMs }: LogHealth, moves: boolean): Finding {
  const count = pending >= pendingCap ? `More than ${pendingCap}` : String(pending);
  const message = `${count} changes wait, the oldest for ${span(oldestMs ?? 0)}.`;
  return moves
    ? warn(
        'outbox',
        `${message} They are being worked off.`,
        'Wait; if the age keeps growing, look at the load of the database and at what holds vacuum back.',
      )
    : fail(
        'outbox',
        `${message} Nothing moves.`,
        'See the finding on the sequencer. Nothing is lost meanwhile.',
      );
}

function batchFinding(stage: string, moves: boolean): Finding {
  return moves
    ? ok('large batch', `A large batch is being worked off (${stage}).`)
    : fail(
        'large batch',
        `A large batch stands still (${stage}).`,
        'See the finding on the sequencer; any process goes on from where it stands.',
      );
}

async function sequencerFindings({ db, config }: Patient, health: LogHealth): Promise<Finding[]> {
  const holder = health.holders.find(({ forMs }) => (forMs ?? 0) > 1_000);
  if (holder !== undefined) return [heldFinding(holder)];
  if (health.digest !== digestOf({ resources: config.resources })) return [];
  const [row] = await db.query<{ others: number }>({
    text: `
select count(*)::int as others from pg_catalog.pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and application_name like 'pulsefeed serve%'`,
  });
  return [
    (row?.others ?? 0) === 0
      ? fail(
          'sequencer',
          'No process is connected that could number changes.',
          'Start `pulsefeed serve` (with the setting `sequencer` on).',
        )
      : fail(
          'sequencer',
          'A server is connected and numbers nothing.',
          'Look for SequencerFailed and SequencerWaits in its log: a table or column that is gone, missing grants, other rules, or `sequencer` switched off.',
        ),
  ];
}

function heldFinding({ pid, application, state, forMs }: HeadHolder): Finding {
  return fail(
    'sequencer',
    `Process ${pid} (${application === '' ? 'unnamed' : application}, ${state ?? 'unknown'}) has held the head for ${span(forMs ?? 0)}.`,
    `A step takes milliseconds and is shed after 30 s. If it stays: select pg_terminate_backend(${pid}); another sequencer goes on.`,
    `process ${pid}`,
  );
}
