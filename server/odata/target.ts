import { PulsefeedError } from '../base/errors.ts';

/** One path segment: a name and, where there is one, its key predicate. */
export interface PathSegment {
  readonly name: string;
  /** The text between the parentheses, decoded. */
  readonly key: string | undefined;
}

/**
 * Splits the raw path of a request into segments, each decoded exactly once after the split. Doubled and trailing
 * slashes are forgiven, and so is a raw slash inside a quoted key, which some proxies make of `%2F`.
 * @throws EE-100 for an encoding that is none, EE-107 for a segment that cannot be a name.
 */
export function parsePath(rawPath: string): PathSegment[] {
  const decoded = rawPath
    .split('/')
    .filter(piece => piece !== '')
    .map(decodeOnce);
  const joined: string[] = [];
  for (const piece of decoded) {
    const last = joined.at(-1);
    if (last !== undefined && insideQuotedKey(last)) joined[joined.length - 1] = `${last}/${piece}`;
    else joined.push(piece);
  }
  return joined.map(parseSegment);
}

function decodeOnce(piece: string): string {
  try {
    const text = decodeURIComponent(piece);
    if (text.includes('\0')) throw new URIError('NUL');
    return text;
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new PulsefeedError('EE-100', 'The path is not valid percent-encoded UTF-8.', { target: 'path' });
  }
}

function insideQuotedKey(segment: string): boolean {
  return /^[^('/]+\(/.test(segment) && (segment.split("'").length - 1) % 2 === 1;
}

function parseSegment(text: string): PathSegment {
  const match = /^([$\p{L}_][\p{L}\p{N}_.]*)(?:\(([\s\S]*)\))?$/u.exec(text);
  if (match === null) throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  const [, name = '', predicate] = match;
  return { name, key: predicate };
}

/** Writes a string key for a URL path: quoted, with apostrophes doubled, then percent-encoded. */
export function encodeStringKey(key: string): string {
  return `'${encodeURIComponent(key.replaceAll("'", "''")).replaceAll("'", '%27')}'`;
}
