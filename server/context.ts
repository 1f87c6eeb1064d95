import type { Config } from './base/config/index.ts';
import { loadConfig } from './base/config/index.ts';
import type { Db } from './base/db/index.ts';
import { migrateAndPublish, openDatabase, openRuntime, type Runtime } from './runtime.ts';

/** What every verb is given: how to read its configuration, reach the database and speak. */
export interface VerbContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Writes text to standard output as it is. */
  readonly out: (text: string) => void;
  readonly loadConfig: (flags: Readonly<Record<string, unknown>>) => Promise<Config>;
  readonly openDatabase: (config: Config, applicationName: string) => Promise<Db>;
  readonly openRuntime: (config: Config, db: Db) => Promise<Runtime>;
  readonly migrateAndPublish: (
    config: Config,
    db: Db,
  ) => Promise<{ migrations: string[]; published: boolean }>;
}

/** The context of a real process. */
export function processContext(): VerbContext {
  const env = process.env;
  const cwd = process.cwd();
  return {
    env,
    cwd,
    out: text => process.stdout.write(text),
    loadConfig: flags => loadConfig({ flags, env, cwd }),
    openDatabase,
    openRuntime,
    migrateAndPublish,
  };
}
