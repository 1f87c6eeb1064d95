import { randomUUID } from 'node:crypto';
import type { Column } from '../base/catalog/index.ts';
import type { NewKeys } from '../base/config/index.ts';
import { snowflake } from '../log/index.ts';

/** Makes the key of a new record that has none. */
export type NewKey = () => string;

/**
 * How a resource makes keys: a uuid column takes uuids whatever the configuration says, 8-byte integers and numerics
 * take snowflakes, texts either. Undefined where the client has to send the key.
 */
export function newKeyOf(column: Column, keys: NewKeys, machineId: number): NewKey | undefined {
  if (keys === 'none') return undefined;
  const { baseType } = column;
  if (baseType === 'uuid') return randomUUID;
  const text = ['text', 'varchar', 'bpchar'].includes(baseType);
  if (text && keys === 'uuid') return randomUUID;
  if (!text && baseType !== 'int8' && baseType !== 'numeric') return undefined;
  const next = snowflake(machineId);
  let last = 0n;
  return () => {
    last = next(last);
    return last.toString();
  };
}
