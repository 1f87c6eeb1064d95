import type { ResourceConfig } from './file.ts';

/** Where each resource stands in the order of parents before children. */
export interface Ranks {
  /** Longest path from a resource without parents: resources on one level may mix. */
  readonly level: ReadonlyMap<string, number>;
  /** A total order that agrees with `level`; ties keep the order of the configuration. */
  readonly rank: ReadonlyMap<string, number>;
  /** The names along a cycle of parents, if there is one; a resource that is its own parent is none. */
  readonly cycle?: readonly string[];
}

/** Topological order of the configured parents; a resource's reference to itself is left out. */
export function rankResources(resources: readonly ResourceConfig[]): Ranks {
  const byName = new Map(resources.map(resource => [resource.name, resource]));
  const level = new Map<string, number>();
  let cycle: string[] | undefined;

  function visit(name: string, path: readonly string[]): number {
    const known = level.get(name);
    if (known !== undefined) return known;
    if (path.includes(name)) {
      cycle ??= [...path.slice(path.indexOf(name)), name];
      return 0;
    }
    const parents = (byName.get(name)?.parents ?? []).filter(parent => parent.resource !== name);
    const own = Math.max(-1, ...parents.map(parent => visit(parent.resource, [...path, name]))) + 1;
    level.set(name, own);
    return own;
  }

  for (const { name } of resources) visit(name, []);
  const ordered = resources.map(({ name }) => name).sort((a, b) => (level.get(a) ?? 0) - (level.get(b) ?? 0));
  const rank = new Map(ordered.map((name, index) => [name, index]));
  return cycle === undefined ? { level, rank } : { level, rank, cycle };
}
