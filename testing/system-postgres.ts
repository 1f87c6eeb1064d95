import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresBinaries } from './postgres-binaries.ts';

/** A PostgreSQL of the system, with the tools that the npm package lacks. */
export interface SystemPostgres {
  readonly binaries: PostgresBinaries;
  readonly pgDump: string;
  readonly pgRestore: string;
  readonly psql: string;
  readonly pgBasebackup: string;
}

/** Where Debian keeps each version. */
const versions = '/usr/lib/postgresql';

/** The newest PostgreSQL that Debian's packages installed, whole with server and tools; undefined where there is none. */
export function systemPostgres(): SystemPostgres | undefined {
  const found = existsSync(versions) ? readdirSync(versions) : [];
  for (const version of found.sort((a, b) => Number(b) - Number(a))) {
    const program = (name: string) => join(versions, version, 'bin', name);
    const whole = {
      binaries: {
        initdb: program('initdb'),
        postgres: program('postgres'),
        pgCtl: program('pg_ctl'),
        version,
      },
      pgDump: program('pg_dump'),
      pgRestore: program('pg_restore'),
      psql: program('psql'),
      pgBasebackup: program('pg_basebackup'),
    };
    const { initdb, postgres, pgCtl } = whole.binaries;
    const programs = [initdb, postgres, pgCtl, whole.pgDump, whole.pgRestore, whole.psql, whole.pgBasebackup];
    if (Number(version) >= 14 && programs.every(path => existsSync(path))) return whole;
  }
  return undefined;
}
