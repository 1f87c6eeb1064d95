declare module 'snowflake-id' {
  class SnowflakeId {
    constructor(options: { mid: number; offset: number });
    /** A decimal Int64. */
    generate(): string;
  }
  const exports: typeof SnowflakeId | { default: typeof SnowflakeId };
  export default exports;
}
