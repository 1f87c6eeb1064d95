import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PulsefeedError } from '../errors.ts';
import { type ConfigFile, type ResourceConfig, validateConfigFile } from './file.ts';
import {
  environmentName,
  flagName,
  type Setting,
  type SettingName,
  type Settings,
  settings,
} from './settings.ts';

/** Settings and resources as they hold for this process. */
export interface Config {
  readonly settings: Settings;
  readonly resources: readonly ResourceConfig[];
  readonly file: ConfigFile;
  /** Path of the file that was read, or undefined when there is none. */
  readonly path: string | undefined;
  /** Where each setting came from. */
  readonly origins: Readonly<Record<SettingName, 'flag' | 'environment' | 'file' | 'default'>>;
}

/** What configuration is read from. Flags go before the environment, the environment before the file. */
export interface ConfigInput {
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/**
 * Reads flags, environment and `pulsefeed.config.json` (or the file that `--config` or PULSEFEED_CONFIG names).
 * @throws EE-700 with one detail for every fault found, not only the first.
 */
export async function loadConfig(input: ConfigInput): Promise<Config> {
  const faults: string[] = [];
  const named = text(input.flags?.config) ?? input.env.PULSEFEED_CONFIG;
  const path = resolve(input.cwd, named ?? 'pulsefeed.config.json');
  const found = existsSync(path);
  if (!found && named !== undefined) faults.push(`${path}: the file does not exist`);
  const file = found ? await readConfigFile(path, faults) : { resources: [] };

  const values: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const [name, row] of Object.entries(settings) as [SettingName, Setting][]) {
    const fromEnv =
      (row.env === undefined ? undefined : input.env[row.env]) ?? input.env[environmentName(name)];
    const candidates = [
      ['flag', input.flags?.[name], flagName(name)],
      ['environment', fromEnv === '' ? undefined : fromEnv, row.env ?? environmentName(name)],
      ['file', (file as unknown as Record<string, unknown>)[name], `${path}: ${name}`],
    ] as const;
    const given = candidates.find(([, value]) => value !== undefined);
    origins[name] = given?.[0] ?? 'default';
    values[name] = given === undefined ? row.default : read(given[1], row, given[2], faults);
  }
  if (faults.length > 0) throw invalid(faults);
  return {
    settings: values as unknown as Settings,
    resources: file.resources,
    file,
    path: found ? path : undefined,
    origins: origins as Config['origins'],
  };
}

async function readConfigFile(path: string, faults: string[]): Promise<ConfigFile> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    faults.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    return { resources: [] };
  }
  const { file, faults: found } = validateConfigFile(parsed);
  faults.push(...found.map(fault => `${path}: ${fault}`));
  return file;
}

function read(value: unknown, row: Setting, origin: string, faults: string[]): unknown {
  const fault = (expected: string) => {
    faults.push(
      `${origin}: expected ${expected}${row.secret === true ? '' : `, got ${JSON.stringify(value)}`}`,
    );
    return row.default;
  };
  switch (row.type) {
    case 'integer': {
      const number =
        typeof value === 'number' ? value : /^-?\d+$/.test(String(value)) ? Number(value) : Number.NaN;
      const { min = 0, max = Number.MAX_SAFE_INTEGER } = row;
      return Number.isInteger(number) && number >= min && number <= max
        ? number
        : fault(`an integer from ${min} to ${max}`);
    }
    case 'boolean':
      if (value === true || value === 'true' || value === '1') return true;
      if (value === false || value === 'false' || value === '0') return false;
      return fault('true or false');
    case 'strings':
      if (Array.isArray(value)) return value.map(String);
      return String(value)
        .split(',')
        .map(part => part.trim())
        .filter(part => part !== '');
    case 'string': {
      const string = String(value);
      if (row.oneOf !== undefined && !row.oneOf.includes(string))
        return fault(`one of ${row.oneOf.join(', ')}`);
      if (row.pattern !== undefined && !row.pattern.test(string))
        return fault(`text like ${row.pattern.source}`);
      return string;
    }
    default: {
      const never: never = row.type;
      return never;
    }
  }
}

/** One error that lists every fault. */
export function invalid(faults: readonly string[]): PulsefeedError {
  const message =
    faults.length === 1
      ? `The configuration has a fault: ${faults[0]}`
      : `The configuration has ${faults.length} faults:\n  ${faults.join('\n  ')}`;
  return new PulsefeedError('EE-700', message, {
    details: faults.map(fault => ({ code: 'EE-700' as const, message: fault })),
  });
}

/** The settings for people to read, secrets as set or unset. */
export function describeConfig(config: Config): { name: string; value: unknown; origin: string }[] {
  return (Object.entries(settings) as [SettingName, Setting][]).map(([name, row]) => {
    const value = config.settings[name];
    return {
      name,
      value: row.secret === true ? (value === undefined ? 'unset' : 'set') : value,
      origin: config.origins[name],
    };
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export type { ConfigFile, NewKeys, ParentConfig, ResourceConfig } from './file.ts';
export { rankResources } from './ranks.ts';
export {
  environmentName,
  flagName,
  type Setting,
  type SettingName,
  type Settings,
  settings,
} from './settings.ts';
