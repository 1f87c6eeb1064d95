import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { packageFile } from '../package-root.ts';
import { rankResources } from './ranks.ts';

/** A parent that the record names by key; its pulse comes before the child's. */
export interface ParentConfig {
  readonly resource: string;
  /** Column of the child's table that holds the parent's key. */
  readonly column: string;
  /** Name of the relation to the parent. */
  readonly as?: string;
  /** Name of the parent's relation to these records. */
  readonly children?: string;
}

/** How the key of a new record is made where it has none; `none`: the client or the column's default gives it. */
export type NewKeys = 'snowflake' | 'uuid' | 'none';

/** One resource of the feed. Without a table, its changes come over ingest and state everything themselves. */
export interface ResourceConfig {
  /** ResourceName in the feed and entity set in the service. */
  readonly name: string;
  /** `schema.table` or `table`. */
  readonly table?: string;
  /** Key column. Required with a table. */
  readonly key?: string;
  /** Column with the time of the last change; reconcile and the order of seeding use it. */
  readonly modified?: string;
  readonly parents?: readonly ParentConfig[];
  /** Column -> the name it is served under, or false to hide it. */
  readonly fields?: Readonly<Record<string, string | false>>;
  /** Records may be written by tokens with the scope write. */
  readonly writable?: boolean | { readonly keys?: NewKeys };
  /** Each changed field leaves a row of HistoryTransactional with the number of its event. */
  readonly history?: boolean;
}

/** pulsefeed.config.json: the resources, and any setting by its name. */
export interface ConfigFile {
  readonly resources: readonly ResourceConfig[];
  /** Feed -> ResourceName or `*` -> rule; read by server/visibility. */
  readonly feeds?: Readonly<
    Record<
      string,
      Readonly<Record<string, true | string | { readonly inherit: string; readonly where?: string }>>
    >
  >;
  /** Feeds shown to whoever comes without a token. */
  readonly anonymous?: readonly string[];
}

const schema = JSON.parse(readFileSync(packageFile('schema/config.schema.json'), 'utf8')) as object;
const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile<ConfigFile>(schema);

/** Checks a parsed config file against the schema and against itself; `faults` is empty when it holds. */
export function validateConfigFile(parsed: unknown): { file: ConfigFile; faults: string[] } {
  if (!validate(parsed)) {
    const faults = (validate.errors ?? []).map(error => {
      const extra = error.params.additionalProperty as string | undefined;
      return `${error.instancePath === '' ? 'the file' : error.instancePath} ${error.message}${extra === undefined ? '' : `: ${extra}`}`;
    });
    return { file: { resources: [] }, faults };
  }
  return { file: parsed, faults: crossChecks(parsed) };
}

function crossChecks(file: ConfigFile): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const resource of file.resources) {
    if (names.has(resource.name)) faults.push(`resource ${resource.name} is named twice`);
    names.add(resource.name);
    if (resource.name === 'EntityEvent')
      faults.push('EntityEvent is the feed itself and cannot be a resource of it');
  }
  for (const resource of file.resources) {
    for (const parent of resource.parents ?? []) {
      if (!names.has(parent.resource)) {
        faults.push(`resource ${resource.name}: parent ${parent.resource} is not a configured resource`);
      }
    }
    if (resource.history === true && names.has('HistoryTransactional')) {
      faults.push(
        `resource ${resource.name}: its history would be HistoryTransactional, which is a resource already`,
      );
    }
    if ((resource.parents ?? []).length > 0 && resource.table === undefined) {
      faults.push(`resource ${resource.name}: parents need a table to read them from`);
    }
  }
  if (faults.length === 0) {
    const { cycle } = rankResources(file.resources);
    if (cycle !== undefined) faults.push(`the parents form a cycle: ${cycle.join(' -> ')}`);
  }
  return faults;
}
