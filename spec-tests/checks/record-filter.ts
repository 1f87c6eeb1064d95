import type { Context } from '../context.ts';
import { address, stringLiteral } from '../http/address.ts';
import type { Json, JsonObject } from '../http/exact-json.ts';
import type { Exchange } from '../http/exchange.ts';
import { readPage } from '../http/page.ts';
import { fail, pass, type Verdict, Violation } from '../rule.ts';
import type { EntityType, Field } from '../service/metadata.ts';
import { type PickedField, pickField } from '../service/records.ts';

/** One filter to send, and what a row must fulfil to be in the answer. */
export type FilterCase = { filter: string; holds: (row: JsonObject) => boolean };

const remedy = 'Evaluate $filter as OData lays down; return all rows that fulfil it and no others.';
const compareTop = 100;

/**
 * Sends each filter and compares: every returned row must fulfil it, and the rows of `known` that fulfil it must be
 * found, as far as the answer is not cut by paging.
 */
export async function judgeFilters(
  context: Context,
  resource: string,
  known: readonly JsonObject[],
  keyName: string | undefined,
  cases: readonly FilterCase[],
): Promise<Verdict> {
  const exchanges: Exchange[] = [];
  for (const { filter, holds } of cases) {
    const page = await readFiltered(context, resource, filter);
    exchanges.push(page.exchange);
    const wrong = page.rows.find(row => !holds(row));
    if (wrong !== undefined) {
      return fail(`"${filter}" returned a row that does not fulfil it: ${nameOf(wrong, keyName)}`, remedy, [
        page.exchange,
      ]);
    }
    const expected = known.filter(holds);
    if (page.rows.length >= expected.length) continue;
    if (page.nextLink !== undefined && page.rows.length > 0) continue;
    const reason = `"${filter}" returned ${page.rows.length} rows, though ${expected.length} known rows fulfil it`;
    return fail(reason, remedy, [page.exchange]);
  }
  return pass(`${cases.length} filters on ${resource} gave the rows they should`, exchanges.slice(0, 2));
}

async function readFiltered(context: Context, resource: string, filter: string) {
  try {
    return await readPage(context.http, address(resource, { $filter: filter, $top: compareTop }));
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Violation(`"${filter}": ${error.message}`, remedy, error.exchanges);
  }
}

function nameOf(row: JsonObject, keyName: string | undefined): string {
  const value = keyName === undefined ? undefined : row[keyName];
  return value === undefined ? 'a row' : `${keyName} ${String(value)}`;
}

/** Finds a field of one of the given types with a value. @throws Unexercised when there is none. */
export function fieldOfType(context: Context, types: readonly string[], what: string): Promise<PickedField> {
  return pickField(
    () => context.samples(),
    (field, type) => types.includes(field.type) && !field.isCollection && !type.keys.includes(field.name),
    what,
  );
}

/** Finds a field that fits. @throws Unexercised when there is none. */
export function fieldThat(
  context: Context,
  fits: (field: Field, type: EntityType) => boolean,
  what: string,
): Promise<PickedField> {
  return pickField(() => context.samples(), fits, what);
}

/** The six comparisons of a field with a literal. `order` gives a value a place on a line; null has none. */
export function comparisons(
  name: string,
  literal: string,
  at: number,
  order: (value: Json) => number,
  operators: readonly string[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'],
): FilterCase[] {
  return operators.map(operator => ({
    filter: `${name} ${operator} ${literal}`,
    holds: row => {
      const value = row[name];
      // OData Protocol 11.2.6.1.1: null is equal to nothing but null, and neither less nor greater.
      if (value === null || value === undefined) return operator === 'ne';
      return compares(operator, order(value), at);
    },
  }));
}

/** What an operator of the filter language says of two numbers. */
export function compares(operator: string, left: number | bigint, right: number | bigint): boolean {
  if (operator === 'eq') return left === right;
  if (operator === 'ne') return left !== right;
  if (operator === 'gt') return left > right;
  if (operator === 'ge') return left >= right;
  return operator === 'lt' ? left < right : left <= right;
}

/** The middle one of the values, so that something lies on either side. */
export function middleOf(values: readonly Json[], order: (value: Json) => number): Json {
  const sorted = [...values].sort((a, b) => order(a) - order(b));
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

/** Judges `eq` and `ne` of a text field against one of its own values. */
export async function judgeTextField(context: Context, picked: PickedField): Promise<Verdict> {
  const { sample, field, values } = picked;
  const value = String(values[0]);
  return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], [
    { filter: `${field.name} eq ${stringLiteral(value)}`, holds: row => row[field.name] === value },
    { filter: `${field.name} ne ${stringLiteral(value)}`, holds: row => row[field.name] !== value },
  ]);
}
