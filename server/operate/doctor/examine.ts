import type { Config } from '../../base/config/index.ts';
import type { Db } from '../../base/db/index.ts';
import { fromDatabase, PulsefeedError } from '../../base/errors.ts';
import { RuleBook } from '../../visibility/index.ts';
import { checkArchive } from './check-archive.ts';
import { checkCapture, checkRecords } from './check-capture.ts';
import { checkEpoch } from './check-epoch.ts';
import { checkSchemaGrants, checkTableGrants } from './check-grants.ts';
import { checkMigrations, checkOutbox, checkRules } from './check-log.ts';
import { checkNotify, checkSessions } from './check-pooler.ts';
import { checkClock, checkEngine, checkVersion, checkWritable } from './check-server.ts';
import { checkKeys, checkModified, checkTables } from './check-tables.ts';
import { checkVacuum } from './check-vacuum.ts';
import {
  type DoctorLimits,
  defaultLimits,
  type Finding,
  fail,
  ok,
  type Patient,
  type TablePatient,
} from './finding.ts';

/** What an examination works with. */
export interface Examination {
  readonly config: Config;
  /** Opens the database; its failure is the first finding. */
  readonly open: () => Promise<Db>;
  readonly now?: () => number;
  readonly limits?: Partial<DoctorLimits>;
  /** Compare every record, however many. */
  readonly full?: boolean;
}

/** Runs all checks that can be run, and returns what they found, in the order of cause and effect. Changes nothing. */
export async function examine(examination: Examination): Promise<Finding[]> {
  let db: Db;
  try {
    db = await examination.open();
  } catch (error) {
    return [unreachable(error)];
  }
  try {
    return await examineDatabase({
      config: examination.config,
      db,
      limits: { ...defaultLimits, ...examination.limits },
      now: examination.now ?? Date.now,
      full: examination.full ?? false,
    });
  } finally {
    await db.close();
  }
}

async function examineDatabase(patient: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  const run = async (name: string, check: () => Promise<Finding[]>) => {
    const found = await check().catch((error: unknown) => [broken(name, error)]);
    findings.push(...found);
    return found.every(({ level }) => level !== 'fail');
  };
  try {
    await patient.db.query({ text: 'select 1' });
  } catch (error) {
    return [unreachable(error)];
  }
  findings.push(ok('database', 'The database answers.'));
  if (!(await run('version', () => checkVersion(patient)))) return findings;
  await run('engine', () => checkEngine(patient));
  await run('writable', () => checkWritable(patient));
  await run('clock', () => checkClock(patient));
  await run('sessions', () => checkSessions(patient));
  await run('notify', () => checkNotify(patient));
  await run('vacuum', () => checkVacuum(patient));
  const { tables, findings: found } = await checkTables(patient);
  findings.push(...found);
  const full: TablePatient = { ...patient, tables };
  await run('keys', () => checkKeys(full));
  await run('modified', () => checkModified(full));
  await run('grants', () => checkTableGrants(full));
  if (!(await run('migrations', () => checkMigrations(patient)))) return findings;
  const granted = await run('grants', () => checkSchemaGrants(patient));
  await run('rules', () => checkRules(patient));
  await run('epoch', () => checkEpoch(patient));
  await run('archive', () => checkArchive(patient));
  await run('outbox', () => checkOutbox(patient));
  await run('capture', () => checkCapture(full));
  if (granted)
    await run('records', () =>
      checkRecords(full, new RuleBook(patient.db, patient.config.resources, tables)),
    );
  return findings;
}

function unreachable(error: unknown): Finding {
  const known = error instanceof PulsefeedError ? error : fromDatabase(error);
  const cause = error instanceof Error ? error.message : String(error);
  return fail(
    'database',
    known === error ? known.message : `The database cannot be reached: ${cause}`,
    known.code === 'EE-701'
      ? 'Stop that process to examine its data, or ask it: GET /health/ready.'
      : 'Check DATABASE_URL, the network, the password, and that PostgreSQL is running and takes connections.',
  );
}

/** A check that could not be finished is a finding itself; the others go on. */
function broken(check: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return fail(check, `This could not be examined: ${message}`, 'See the findings above; else report it.');
}
