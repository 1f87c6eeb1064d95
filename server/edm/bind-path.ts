import type { Path, PathSegment } from './ast.ts';
import { type Binder, type Instance, type Scope, typeError } from './binder.ts';
import { ExpressionError } from './expression-error.ts';
import { type ComplexType, type EntityType, isNavigation, type Property, typeName } from './model.ts';
import type { Collection, ComplexField, Element, Field, NavigationStep, Origin } from './typed.ts';

/** What a path leads to. */
export type Resolved =
  | Field
  | Element
  | ComplexField
  | {
      readonly kind: 'entity';
      readonly origin: Origin;
      readonly via: readonly NavigationStep[];
      readonly type: EntityType;
    }
  | { readonly kind: 'collection'; readonly collection: Collection };

/** Resolves a path against the model. @throws ExpressionError `unknown-name` with the position of the first unknown step. */
export function resolvePath(path: Path, scope: Scope, binder: Binder): Resolved {
  const { start, rest } = startOf(path, scope, binder);
  if (start.kind === 'value') {
    const [step] = rest;
    if (step !== undefined) throw typeError(`${start.name} has no members.`, step.at, 'no path');
    return { kind: 'element', id: start.id, name: start.name, type: start.type, at: path.at };
  }
  return walkSteps(start.origin, start.type, rest, path.at, binder);
}

function startOf(
  path: Path,
  scope: Scope,
  binder: Binder,
): { start: Instance; rest: readonly PathSegment[] } {
  if (path.root === '$root') throw new ExpressionError('unsupported', '$root is not supported.', path.at);
  if (path.root === '$this') return { start: scope.current, rest: path.segments };
  const it: Instance = { kind: 'row', origin: { kind: 'it' }, type: binder.it };
  if (path.root === '$it') {
    if (binder.options.nested === true) {
      throw new ExpressionError('unsupported', '$it is not supported within $expand; use $this.', path.at);
    }
    return { start: it, rest: path.segments };
  }
  const [first, ...rest] = path.segments;
  const variable = first === undefined ? undefined : scope.variables.get(first.name);
  return variable === undefined ? { start: scope.current, rest: path.segments } : { start: variable, rest };
}

function walkSteps(
  origin: Origin,
  start: EntityType,
  steps: readonly PathSegment[],
  at: number,
  binder: Binder,
): Resolved {
  const via: NavigationStep[] = [];
  let type = start;
  for (const [index, step] of steps.entries()) {
    if (step.name === type.qualifiedName) continue;
    const member = type.members.get(step.name);
    if (member === undefined) throw unknownMember(step, type);
    const rest = steps.slice(index + 1);
    if (!isNavigation(member)) return propertyAt(origin, [...via], member, rest, at);
    const target = binder.options.model?.entityTypes.get(member.target);
    if (target === undefined) {
      throw new ExpressionError('unsupported', `${step.name} cannot be followed here.`, step.at);
    }
    if (member.collection) {
      noFurther(step, rest);
      return {
        kind: 'collection',
        collection: { kind: 'rows', origin, via: [...via], step: { navigation: member, target } },
      };
    }
    via.push({ navigation: member, target });
    type = target;
  }
  return { kind: 'entity', origin, via, type };
}

function unknownMember(step: PathSegment, type: { readonly name: string }): ExpressionError {
  if (step.name.includes('.')) {
    return new ExpressionError('unsupported', `The type cast ${step.name} is not supported.`, step.at);
  }
  const hint = /^null$/i.test(step.name) ? '; null is written in lower case' : '';
  const message = `${type.name} has no property ${step.name}${hint}.`;
  return new ExpressionError('unknown-name', message, step.at, `a property of ${type.name}`);
}

function noFurther(step: PathSegment, rest: readonly PathSegment[]): void {
  const [next] = rest;
  if (next === undefined) return;
  const message = `${step.name} is a collection: its members are reached with any or all.`;
  throw typeError(message, next.at, 'any, all or $count');
}

function propertyAt(
  origin: Origin,
  via: readonly NavigationStep[],
  property: Property,
  rest: readonly PathSegment[],
  at: number,
): Resolved {
  const { type } = property;
  const [next] = rest;
  if (type.kind === 'collection') {
    noFurther({ name: property.name, at }, rest);
    if (type.of.kind === 'complex') {
      throw new ExpressionError('unsupported', `Expressions over ${typeName(type)} are not supported.`, at);
    }
    return { kind: 'collection', collection: { kind: 'values', origin, via, property, element: type.of } };
  }
  if (type.kind === 'complex') {
    if (next === undefined) return { kind: 'complexField', origin, via, property, at };
    const json = jsonSteps(type, rest);
    const last = json[json.length - 1];
    if (last === undefined || (last.type.kind !== 'primitive' && last.type.kind !== 'enum')) {
      throw new ExpressionError(
        'unsupported',
        'Only simple members of a complex value can be used.',
        next.at,
      );
    }
    return { kind: 'field', origin, via, property, json, type: last.type, nullable: true, at };
  }
  if (next !== undefined) throw typeError(`${property.name} has no members.`, next.at, 'an operator');
  const nullable = property.nullable || via.length > 0;
  return { kind: 'field', origin, via, property, json: [], type, nullable, at };
}

function jsonSteps(start: ComplexType, steps: readonly PathSegment[]): readonly Property[] {
  const json: Property[] = [];
  let type: ComplexType = start;
  for (const [index, step] of steps.entries()) {
    const member = type.properties.find(property => property.name === step.name);
    if (member === undefined) throw unknownMember(step, type);
    json.push(member);
    const next = steps[index + 1];
    if (next === undefined) break;
    if (member.type.kind !== 'complex')
      throw typeError(`${step.name} has no members.`, next.at, 'an operator');
    type = member.type;
  }
  return json;
}

/** Resolves the collection before any, all, `$count` or after in. @throws ExpressionError when the path is none. */
export function resolveCollection(path: Path, scope: Scope, binder: Binder): Collection {
  const resolved = resolvePath(path, scope, binder);
  if (resolved.kind === 'collection') return resolved.collection;
  throw typeError('This is not a collection.', path.at, 'a collection');
}

/** The value a path stands for. A relation to one row stands for that row's key, to be compared with null. */
export function bindPath(path: Path, scope: Scope, binder: Binder): Field | Element | ComplexField {
  const resolved = resolvePath(path, scope, binder);
  if (resolved.kind === 'collection') {
    throw typeError('This is a collection: use any, all or $count.', path.at, 'a single value');
  }
  if (resolved.kind !== 'entity') return resolved;
  // URL Conventions 5.1.1.14.4 and .6: within a nested $filter $it stays the record that the request is about.
  const nested = path.root === '$it' && scope.current.kind === 'value';
  const hint = nested ? ' A member of the collection is $this.' : '';
  throw typeError(`This is a whole record, not a value.${hint}`, path.at, nested ? '$this' : 'a property');
}
