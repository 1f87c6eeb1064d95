import { PulsefeedError } from '../base/errors.ts';

/** One path segment: a name and, where there is one, its key predicate. */
export interface PathSegment {
  readonly name: string;
  /** The text between the parentheses, decoded. */
  readonly key: string | undefined;
}

/**
 * Splits the raw path of a request into segments, each decoded exactly once after the split (URL Conventions 2).
 * Doubled and trailing slashes are forgiven; a slash within a key is `%2F` and nothing else.
 * @throws EE-100 for an encoding that is none and for a key that a raw slash cuts, EE-107 for a segment that cannot be
 * a name.
 */
export function parsePath(rawPath: string): PathSegment[] {
  const segments = rawPath
    .split('/')
    .filter(piece => piece !== '')
    .map(decodeOnce);
  return segments.map((text, index) => parseSegment(text, index === segments.length - 1));
}

function decodeOnce(piece: string): string {
  try {
    const text = decodeURIComponent(piece);
    // Neither can be held by the database nor be written into a link.
    if (/[\0\p{Cs}]/u.test(text)) throw new URIError('NUL or half a surrogate pair');
    return text;
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new PulsefeedError('EE-100', 'The path is not valid percent-encoded UTF-8.', { target: 'path' });
  }
}

function parseSegment(text: string, last: boolean): PathSegment {
  const match = /^([$\p{L}_][\p{L}\p{N}_.]*)(?:\(([\s\S]*)\))?$/u.exec(text);
  if (match === null && !last && /^[^('/]+\('[^']*(?:''[^']*)*$/.test(text)) {
    throw new PulsefeedError('EE-100', 'A slash within a key is written %2F.', { target: 'path' });
  }
  if (match === null) throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  const [, name = '', predicate] = match;
  return { name, key: predicate };
}

/** Writes a string key for a URL path: quoted, with apostrophes doubled, then percent-encoded. */
export function encodeStringKey(key: string): string {
  return `'${encodeURIComponent(key.replaceAll("'", "''")).replaceAll("'", '%27')}'`;
}

/** A target taken apart: both parts percent-encoded as they came, the path below the service root. */
export interface Target {
  readonly rawPath: string;
  readonly rawQuery: string;
}

/**
 * Reads a URL that a client put into a body or an option: absolute, beginning with a slash, or relative to the service
 * root (Protocol 11.7.7.1). Our own root's host and the one the client called are both ours.
 * @throws EE-100 when it leads out of this service.
 */
export function splitTarget(url: string, { root, headers }: { root: string; headers: Headers }): Target {
  const [withoutFragment = ''] = url.split('#');
  const [start = '', ...query] = withoutFragment.split('?');
  const rawQuery = query.join('?');
  const own = new URL(root);
  const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/]*)(.*)$/s.exec(start);
  if (absolute !== null) {
    const [, host = '', path = ''] = absolute;
    const ours = [own.host, headers.host?.toLowerCase()];
    if (!/^https?:/i.test(start) || !ours.includes(withoutDefaultPort(host.toLowerCase(), start))) {
      throw outside();
    }
    return { rawPath: belowRoot(path, own.pathname), rawQuery };
  }
  if (start.startsWith('/')) return { rawPath: belowRoot(start, own.pathname), rawQuery };
  return { rawPath: `/${withoutDots(start)}`, rawQuery };
}

type Headers = Readonly<Record<string, string | undefined>>;

function withoutDefaultPort(host: string, url: string): string {
  return host.replace(/^https:/i.test(url) ? /:443$/ : /:80$/, '');
}

/** Takes the path prefix of the service off, if it is there: a proxy may have taken it off already. */
export function belowRoot(path: string, rootPath: string): string {
  const prefix = rootPath.replace(/\/+$/, '');
  const inside = prefix !== '' && (path === prefix || path.startsWith(`${prefix}/`));
  return `/${withoutDots(inside ? path.slice(prefix.length) : path)}`;
}

function withoutDots(path: string): string {
  const kept = path.split('/').filter(piece => piece !== '.' && piece !== '');
  if (kept.includes('..')) throw outside();
  return kept.join('/');
}

function outside(): PulsefeedError {
  return new PulsefeedError('EE-100', 'The URL leads out of this service.', { target: 'url' });
}
