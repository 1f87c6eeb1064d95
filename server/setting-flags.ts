import { type Command, Option } from 'commander';
import { flagName, type Setting, type SettingName, settings } from './base/config/index.ts';

/** Adds `--config` and the flags of these settings to a verb; without names, those of all settings but secrets. */
export function addSettingFlags(verb: Command, names?: readonly SettingName[]): Command {
  verb.option('--config <file>', 'configuration file (PULSEFEED_CONFIG; default pulsefeed.config.json)');
  for (const [name, row] of Object.entries(settings) as [SettingName, Setting][]) {
    if (names !== undefined ? !names.includes(name) : row.secret === true && name !== 'databaseUrl') continue;
    const flag = row.type === 'boolean' ? `${flagName(name)} [true|false]` : `${flagName(name)} <value>`;
    const standard =
      row.default === undefined || row.secret === true ? '' : ` (default ${String(row.default)})`;
    verb.addOption(new Option(flag, `${row.doc}${standard}`));
  }
  return verb;
}

/** The settings that name the database; every verb that touches it takes them. */
export const databaseSettings: readonly SettingName[] = ['databaseUrl', 'dataDir'];
