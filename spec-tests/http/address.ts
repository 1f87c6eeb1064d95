/**
 * Writes a path with query options, percent-encoding the values but leaving `$` readable, since the result is shown
 * to people as a curl command.
 */
export function address(path: string, options: Record<string, string | number | bigint> = {}): string {
  const pairs = Object.entries(options).map(([name, value]) => `${name}=${encodeValue(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

function encodeValue(text: string): string {
  return encodeURIComponent(text).replaceAll('%24', '$').replaceAll('%2C', ',').replaceAll('%3A', ':');
}

/** A key predicate for a string key: quotes are doubled, then the whole is percent-encoded. OData URL Conventions 4.3.1. */
export function stringKey(key: string): string {
  return `('${encodeURIComponent(key.replaceAll("'", "''"))}')`;
}

/** A string literal of the filter language. */
export function stringLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
