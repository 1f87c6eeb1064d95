import { ReplicationError } from './replication-error.ts';

/** The service root without a trailing slash and query. @throws ReplicationError `usage` when it is no http(s) URL. */
export function serviceRoot(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new ReplicationError('usage', `Not a URL: ${url}`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new ReplicationError('usage', `Not an http(s) URL: ${url}`);
  if (parsed.username || parsed.password)
    throw new ReplicationError('usage', 'Put credentials into the auth options, not into the URL.');
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '').replace(/\/EntityEvent$/, '')}`;
}

/**
 * The absolute form of a nextLink met at `at`, or `undefined` when it leads to another host, where credentials must not go.
 * A link that differs only by scheme or port (a server behind a TLS proxy that does not know it) is put on the origin of the service root.
 */
export function linkWithin(base: string, at: string, link: string): string | undefined {
  let target: URL;
  try {
    target = new URL(link, at);
  } catch {
    return undefined;
  }
  const root = new URL(base);
  if (target.hostname !== root.hostname || !/^https?:$/.test(target.protocol)) return undefined;
  return `${root.origin}${target.pathname}${target.search}`;
}
