/** A JSON value as it is written. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
