import { type ParentConfig, type ResourceConfig, rankResources } from '../../base/config/index.ts';
import type { CandidateTable } from './read-catalog.ts';
import {
  anyParent,
  folded,
  modifiedNames,
  parentNames,
  type ResourceNames,
  resourceNames,
} from './reso-names.ts';

/** What was guessed from a catalog. */
export interface Guess {
  readonly resources: readonly ResourceConfig[];
  /** Why, one line for each thing that was taken. */
  readonly reasons: readonly string[];
  /** What was seen and not taken, and why. */
  readonly leftOut: readonly string[];
}

/** Which resource's records a table holds, and how sure that is. */
interface Match {
  readonly table: CandidateTable;
  readonly names: ResourceNames;
  readonly key: string;
  readonly score: number;
  readonly why: string;
}

/** How often each ResourceName stands in a table whose rows belong to records of several resources. */
export type NameCounts = ReadonlyMap<CandidateTable, readonly { name: string; records: number }[]>;

/** Guesses resources, keys, modified columns and parents. Data in, data out; the counts may be empty. */
export function guessResources(tables: readonly CandidateTable[], counts: NameCounts = new Map()): Guess {
  const reasons: string[] = [];
  const leftOut: string[] = [];
  const matches = chooseTables(tables, leftOut);
  const resources: ResourceConfig[] = [];
  const edges: Edge[] = [];
  for (const match of matches) {
    const { table, names, key } = match;
    reasons.push(`${names.resource}: table ${written(table)}, key ${key} (${match.why})`);
    const modified = guessModified(table, names.resource, reasons, leftOut);
    resources.push({
      name: names.resource,
      table: written(table),
      key,
      ...(modified === undefined ? {} : { modified }),
    });
    edges.push(...parentEdges(match, matches, counts, leftOut));
  }
  return { resources: withParents(resources, edges, reasons, leftOut), reasons, leftOut };
}

/** One table for each resource, the best; a table serves one resource. */
function chooseTables(tables: readonly CandidateTable[], leftOut: string[]): Match[] {
  const chosen = new Map<string, Match>();
  for (const table of tables) {
    const match = bestMatch(table, leftOut);
    if (match === undefined) continue;
    const rival = chosen.get(match.names.resource);
    if (rival === undefined) {
      chosen.set(match.names.resource, match);
      continue;
    }
    const [better, worse] = outranks(match, rival) ? [match, rival] : [rival, match];
    chosen.set(match.names.resource, better);
    leftOut.push(
      `table ${written(worse.table)} also looks like ${match.names.resource} (${worse.why}); ${written(better.table)} was taken (${better.why})`,
    );
  }
  const order = new Map(resourceNames.map(({ resource }, index) => [resource, index]));
  return [...chosen.values()].sort(
    (a, b) => (order.get(a.names.resource) ?? 0) - (order.get(b.names.resource) ?? 0),
  );
}

function outranks(a: Match, b: Match): boolean {
  return a.score !== b.score ? a.score > b.score : a.table.rows > b.table.rows;
}

/** The resource that a table fits best: by its key's name, by its own name, or by both. */
function bestMatch(table: CandidateTable, leftOut: string[]): Match | undefined {
  const matches = resourceNames
    .map(names => matchTable(table, names))
    .filter(match => match !== undefined)
    .sort((a, b) => b.score - a.score);
  const best = matches[0];
  if (best === undefined) {
    const named = resourceNames.find(names => names.tables.includes(folded(table.name)));
    if (named !== undefined) {
      leftOut.push(
        `table ${written(table)} is called like ${named.resource}, but has no key of a single column (primary key: ${table.primaryKey.join(', ') || 'none'})`,
      );
    }
  }
  return best;
}

function matchTable(table: CandidateTable, names: ResourceNames): Match | undefined {
  const byName = names.tables.includes(folded(table.name));
  const [primary] = table.primaryKey.length === 1 ? table.primaryKey : [];
  const fields = names.keys.map(folded);
  const standard = fields
    .map(field => table.columns.find(column => folded(column.name) === field)?.name)
    .find(column => column !== undefined);
  const named = byName ? ', and the table is called like it' : '';
  if (standard !== undefined && standard === primary) {
    return match(8 + bonus(byName, table), standard, `it is called like it and is the primary key${named}`);
  }
  if (standard !== undefined && table.unique.includes(standard)) {
    return match(7 + bonus(byName, table), standard, `it is called like it and is unique${named}`);
  }
  // Without an index to go by, the key of another resource is as likely a reference to it.
  if (standard !== undefined && byName) {
    return match(
      5 + bonus(true, table),
      standard,
      'it is called like it, and so is the table; nothing makes it unique',
    );
  }
  const only = primary ?? (table.unique.length === 1 ? table.unique[0] : undefined);
  if (byName && only !== undefined) {
    return match(
      3 + bonus(true, table),
      only,
      'the table is called like it, and this is its only unique column',
    );
  }
  return undefined;

  function match(score: number, key: string, why: string): Match {
    return { table, names, key, score, why };
  }
}

/** Tables go before views, which go before foreign tables: only their changes can be captured. */
function bonus(byName: boolean, table: CandidateTable): number {
  return (byName ? 2 : 0) + (table.kind === 'r' || table.kind === 'p' ? 0.5 : table.kind === 'f' ? 0 : 0.2);
}

function guessModified(
  table: CandidateTable,
  resource: string,
  reasons: string[],
  leftOut: string[],
): string | undefined {
  const wanted = [
    ...modifiedNames.slice(0, 1),
    `${resource}ModificationTimestamp`,
    ...modifiedNames.slice(1),
  ];
  const found = wanted.flatMap(name => table.columns.filter(column => folded(column.name) === folded(name)));
  const usable = found.find(({ baseType }) => ['timestamptz', 'timestamp', 'date'].includes(baseType));
  if (usable !== undefined) {
    reasons.push(`${resource}: modified ${usable.name} (by its name)`);
    return usable.name;
  }
  const [first] = found;
  leftOut.push(
    first === undefined
      ? `${resource} has no column that looks like the time of the last change; reconcile will see new and gone records only`
      : `${resource}: column ${first.name} is of type ${first.baseType}, not a time`,
  );
  return undefined;
}

/** A possible parent. The stronger goes first; of a cycle the weakest stays out. */
interface Edge {
  readonly child: string;
  readonly parent: string;
  readonly column: string;
  readonly strength: number;
  readonly why: string;
}

function parentEdges(child: Match, matches: readonly Match[], counts: NameCounts, leftOut: string[]): Edge[] {
  const resource = child.names.resource;
  const edges: Edge[] = [];
  const known = parentNames[resource] ?? [];
  for (const column of child.table.columns) {
    const name = folded(column.name);
    const special = known.find(row => folded(row.column) === name);
    if (special !== undefined) {
      add(special.parent, column.name, special.strength, 'by its name');
      continue;
    }
    if (name === folded(anyParent.key)) {
      edges.push(...anyParentEdges(child, column.name, matches, counts, leftOut));
      continue;
    }
    if (column.name === child.key) continue;
    const owner = matches.find(match => match.names.keys.some(key => folded(key) === name));
    if (owner !== undefined && owner !== child)
      add(owner.names.resource, column.name, 6, 'it is the key of that resource');
  }
  for (const reference of child.table.references) {
    const parent = matches.find(
      ({ table, key }) => `${table.schema}.${table.name}` === reference.table && key === reference.target,
    );
    if (parent === undefined || edges.some(edge => edge.column === reference.column)) continue;
    if (child.table.columns.find(({ name }) => name === reference.column)?.notNull === true) {
      add(parent.names.resource, reference.column, 4, 'a foreign key that is never null');
    } else {
      leftOut.push(
        `${resource}.${reference.column} refers to ${parent.names.resource} and may be null: add it to parents if the record belongs to that one`,
      );
    }
  }
  return edges;

  function add(parent: string, column: string, strength: number, why: string): void {
    if (!matches.some(({ names }) => names.resource === parent)) {
      leftOut.push(`${resource}.${column} would name a parent ${parent}, for which no table was found`);
      return;
    }
    edges.push({ child: resource, parent, column, strength, why });
  }
}

/** ResourceName and ResourceRecordKey: the rows may belong to several resources, and a parent is one of them. */
function anyParentEdges(
  child: Match,
  column: string,
  matches: readonly Match[],
  counts: NameCounts,
  leftOut: string[],
): Edge[] {
  const resource = child.names.resource;
  const found = counts.get(child.table) ?? [];
  const [most, ...rest] = found.filter(({ name }) => matches.some(match => match.names.resource === name));
  const parent = most?.name ?? (found.length === 0 ? 'Property' : undefined);
  if (parent === undefined || !matches.some(({ names }) => names.resource === parent)) {
    leftOut.push(`${resource}.${column}: no table was found for the resources that it names`);
    return [];
  }
  if (rest.length > 0) {
    leftOut.push(
      `${resource}.${column} also names ${rest.map(({ name }) => name).join(', ')}; a record has one parent by that column, and most belong to ${parent}`,
    );
  }
  const why = most === undefined ? 'by its name; usual for this resource' : `its rows name ${parent}`;
  return [{ child: resource, parent, column, strength: 7, why }];
}

/** Adds the parents, strongest first, leaving out those that would close a cycle between resources. */
function withParents(
  resources: readonly ResourceConfig[],
  edges: readonly Edge[],
  reasons: string[],
  leftOut: string[],
): ResourceConfig[] {
  const parents = new Map<string, ParentConfig[]>();
  const build = (extra?: Edge): ResourceConfig[] =>
    resources.map(resource => {
      const list = [...(parents.get(resource.name) ?? [])];
      if (extra?.child === resource.name) list.push({ resource: extra.parent, column: extra.column });
      return list.length === 0 ? resource : { ...resource, parents: list };
    });
  for (const edge of [...edges].sort((a, b) => b.strength - a.strength)) {
    const { cycle } = rankResources(build(edge));
    if (cycle !== undefined) {
      leftOut.push(
        `${edge.child}.${edge.column} as a parent ${edge.parent} would close a cycle (${cycle.join(' -> ')}); the weaker one was left out`,
      );
      continue;
    }
    parents.set(edge.child, [
      ...(parents.get(edge.child) ?? []),
      { resource: edge.parent, column: edge.column },
    ]);
    reasons.push(`${edge.child}: parent ${edge.parent} by ${edge.column} (${edge.why})`);
  }
  return build();
}

/** `schema.table` as the configuration writes it; a name with a dot or a quote in it is quoted. */
export function written(table: { schema: string; name: string }): string {
  return [table.schema, table.name]
    .map(part => (/[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part))
    .join('.');
}
