/**
 * A request of the project's own, in the form of the standard's grammar tests: rule, input, and `ok` or how the refusal
 * begins. The sets are those of `grammar-service.ts`, once with integers and once with texts as keys.
 */
export type OwnCase = readonly [rule: string, input: string, expect: string];

/** Cases of one rule that are taken or refused alike. */
export function cases(rule: string, expect: string, inputs: readonly string[]): OwnCase[] {
  return inputs.map(input => [rule, input, expect]);
}
