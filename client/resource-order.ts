/**
 * Ranks resources so that every parent has a lower rank than its children. Where parents form a circle (Member and Office
 * name each other) the circle is cut at the resource met first in the order of the map.
 */
export function rankResources(parents: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const ranks = new Map<string, number>();
  const open = new Set<string>();
  const visit = (name: string): void => {
    if (ranks.has(name) || open.has(name)) return;
    open.add(name);
    for (const parent of parents.get(name) ?? []) visit(parent);
    open.delete(name);
    ranks.set(name, ranks.size);
  };
  for (const name of parents.keys()) visit(name);
  return ranks;
}
