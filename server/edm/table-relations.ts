import type { Column, ResourceTable } from '../base/catalog/index.ts';
import type { ParentConfig } from '../base/config/index.ts';
import type { ServedColumn } from './field-names.ts';
import type { ColumnSql, NavigationProperty } from './model.ts';
import { quoteIdentifier } from './sql-writer.ts';

/** A table with the names of its fields. */
interface NamedTable {
  readonly table: ResourceTable;
  readonly served: readonly ServedColumn[];
}

/** The relations of each resource, and what is wrong with the names that the configuration gives them. */
export interface TableRelations {
  readonly of: ReadonlyMap<string, readonly NavigationProperty[]>;
  readonly faults: readonly string[];
}

/** One configured parent: the child's column holds the parent's key. */
interface Link {
  readonly child: NamedTable;
  readonly parent: NamedTable;
  readonly config: ParentConfig;
  readonly column: Column;
}

/**
 * The configured parents as relations: from the child to one parent, named by its column (`ListOfficeKey` leads to
 * `ListOffice`) or, where the column only repeats the parent's key, by the parent; from the parent to its children, named
 * by their resource. A name that is taken gets `By` and the name of the other direction; so the names depend on nothing
 * but the configuration. Parents without a table are left out.
 */
export function tableRelations(namespace: string, tables: readonly NamedTable[]): TableRelations {
  const links = linksOf(tables);
  const taken = new Map(
    tables.map(({ table, served }) => [
      table.config.name,
      new Set([table.config.name, ...served.map(({ name }) => name)]),
    ]),
  );
  const relations = new Map<string, NavigationProperty[]>();
  const faults: string[] = [];
  const add = (at: NamedTable, wish: Wish, relation: Omit<NavigationProperty, 'name'>) => {
    const { name: resource } = at.table.config;
    const names = taken.get(resource) ?? new Set();
    const name = freeName(wish, names);
    if (wish.stated && name !== wish.name) {
      faults.push(`resource ${resource}: the relation ${wish.name} has the name of something else there`);
    }
    names.add(name);
    relations.set(resource, [...(relations.get(resource) ?? []), { name, ...relation }]);
  };
  // Names that the configuration states are given first, so that no other can take them.
  for (const stated of [true, false]) {
    for (const link of links) {
      const wish = parentWish(link);
      if (wish.stated === stated) add(link.child, wish, parentRelation(namespace, link));
    }
  }
  for (const stated of [true, false]) {
    for (const link of links) {
      const wish = childrenWish(link);
      if (wish.stated === stated) add(link.parent, wish, childrenRelation(namespace, link));
    }
  }
  return { of: relations, faults };
}

function linksOf(tables: readonly NamedTable[]): Link[] {
  const byName = new Map(tables.map(named => [named.table.config.name, named]));
  return tables.flatMap(child =>
    (child.table.config.parents ?? []).flatMap(config => {
      const parent = byName.get(config.resource);
      const column = child.table.columns.find(({ name }) => name === config.column);
      return parent === undefined || column === undefined ? [] : [{ child, parent, config, column }];
    }),
  );
}

/** A name, and what to add where it is taken. */
interface Wish {
  readonly name: string;
  readonly by: string;
  readonly stated: boolean;
}

function parentWish({ child, parent, config, column }: Link): Wish {
  if (config.as !== undefined) return { name: config.as, by: parent.table.config.name, stated: true };
  const field = child.served.find(served => served.column === column)?.name ?? column.name;
  const parentKey = parent.served.find(served => served.column === parent.table.key)?.name;
  const plain = field.replace(/(?:_?[Kk]ey|_?[Ii][Dd])$/, '');
  const repeats = child !== parent && (field === parentKey || field === 'ResourceRecordKey' || plain === '');
  const name = repeats || plain === field ? parent.table.config.name : plain;
  return { name, by: field, stated: false };
}

function childrenWish(link: Link): Wish {
  const { child, config } = link;
  if (config.children !== undefined) return { name: config.children, by: '', stated: true };
  return { name: child.table.config.name, by: parentWish(link).name, stated: false };
}

function freeName({ name, by }: Wish, taken: ReadonlySet<string>): string {
  const candidates = [name, `${name}By${by}`];
  for (const candidate of candidates) if (!taken.has(candidate)) return candidate;
  let number = 2;
  while (taken.has(`${name}By${by}${number}`)) number += 1;
  return `${name}By${by}${number}`;
}

function parentRelation(namespace: string, link: Link): Omit<NavigationProperty, 'name'> {
  return {
    target: `${namespace}.${link.parent.table.config.name}`,
    collection: false,
    nullable: true,
    join: [{ own: side(link.column, link), target: side(link.parent.table.key, link) }],
  };
}

function childrenRelation(namespace: string, link: Link): Omit<NavigationProperty, 'name'> {
  return {
    target: `${namespace}.${link.child.table.config.name}`,
    collection: true,
    nullable: false,
    join: [{ own: side(link.parent.table.key, link), target: side(link.column, link) }],
  };
}

/** Columns of one family compare as they are, by their index; others by their text, as keys of the feed do. */
function side(column: Column, { parent, column: other }: Link): ColumnSql {
  const comparable =
    family(parent.table.key) === family(other) && parent.table.key.collation === other.collation;
  if (comparable) return column.name;
  return alias => `${alias}.${quoteIdentifier(column.name)}::text collate "C"`;
}

function family({ baseType }: Column): string {
  if (baseType === 'text' || baseType === 'varchar') return 'text';
  if (['int2', 'int4', 'int8', 'numeric'].includes(baseType)) return 'number';
  return baseType;
}
