import { PulsefeedError } from '../base/errors.ts';

/** Digits that a double may not hold. */
const unsafeDigits = 16;

/**
 * Parses a JSON object whose long integers stay exact: those of 16 digits and more come as text, since JSON.parse would
 * round an Int64. @throws EE-114
 */
export function parseExactObject(body: string): Record<string, unknown> {
  const exact = body.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs, token =>
    /^-?\d+$/.test(token) && token.length >= unsafeDigits ? `"${token}"` : token,
  );
  let parsed: unknown;
  try {
    parsed = JSON.parse(exact);
  } catch (error) {
    throw new PulsefeedError('EE-114', 'The body is not JSON.', { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new PulsefeedError('EE-114', 'The body is not a JSON object.');
  }
  return parsed as Record<string, unknown>;
}

/** A sequence as a body states it: a whole number from 0 to the largest Int64, as number or text; else undefined. */
export function sequenceOf(value: unknown): bigint | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  if (!/^\d{1,19}$/.test(text)) return undefined;
  const sequence = BigInt(text);
  return sequence <= 9223372036854775807n ? sequence : undefined;
}
