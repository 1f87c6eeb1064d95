import type { SqlFragment } from '../edm/index.ts';

/** A statement being written: its parameters so far, numbered as they are bound. */
export interface StatementWriter {
  readonly values: unknown[];
  /** Binds a value and returns its placeholder, without a cast. */
  bind(value: unknown): string;
  /** Takes in a fragment that numbers its placeholders from where it is told to, and returns its text. */
  include(fragment: (firstParameter: number) => SqlFragment): string;
  /** An alias that no other row of the statement has, quoted. */
  alias(): string;
}

/** Starts a statement. */
export function startStatement(): StatementWriter {
  const values: unknown[] = [];
  let aliases = 0;
  return {
    values,
    bind(value) {
      values.push(value);
      return `$${values.length}`;
    },
    include(fragment) {
      const { text, values: own } = fragment(values.length + 1);
      values.push(...own);
      return text;
    },
    alias() {
      aliases += 1;
      return `"_e${aliases}"`;
    },
  };
}
