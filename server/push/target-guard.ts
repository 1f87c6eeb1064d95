import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { PulsefeedError } from '../base/errors.ts';

/** Where a callback may lead. */
export interface TargetGuard {
  /** Checks what the URL itself says. @throws EE-502 in words for the consumer. */
  checkUrl(url: URL): void;
  /** Whether an address may be connected to for `url`; asked again of the socket, once it is connected. */
  allows(address: string, url: URL): boolean;
  /** A lookup for node:net that answers with allowed addresses only. Not called by Node for IP literals. */
  lookup(url: URL): LookupFunction;
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** What resolves names; node's `dns.lookup` unless a test says otherwise. */
export type ResolveAll = (
  host: string,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const resolveAll: ResolveAll = (host, callback) => systemLookup(host, { all: true }, callback);

/** The code of the error that a connection to a forbidden address fails with. */
export const forbiddenTarget = 'EFORBIDDENTARGET';

/**
 * Keeps callbacks from the inside of the provider's network: https only, public unicast addresses only, checked on the
 * address actually connected, ports by list.
 * @param allow Networks that are allowed over http and on any port besides: `127.0.0.0/8`, `::1`, or a single address.
 * @throws EE-700 naming an entry that is no network.
 */
export function createTargetGuard(
  allow: readonly string[],
  ports: readonly string[],
  resolve: ResolveAll = resolveAll,
): TargetGuard {
  const ranges = allow.map(parseRange);
  const listed = (address: string) => {
    const parsed = parseAddress(address);
    return (
      parsed !== undefined &&
      ranges.some(([range, bits]) => range.kind() === parsed.kind() && matches(parsed, range, bits))
    );
  };
  const allows = (address: string, url: URL) =>
    listed(address) ||
    (url.protocol === 'https:' && ports.includes(portOf(url)) && isPublic(parseAddress(address)));
  return {
    allows,
    checkUrl(url) {
      const host = hostOf(url);
      const literal = isIP(host) !== 0;
      if (url.protocol !== 'https:' && !(url.protocol === 'http:' && ranges.length > 0)) {
        throw refused('a callback is an https URL');
      }
      if (url.username !== '' || url.password !== '')
        throw refused('a callback holds no user name and no password');
      if (host === '') throw refused('a callback names a host');
      const port = portOf(url);
      // A name may lead to a listed network; there any port is allowed, which is known once it is resolved.
      const mayBeListed = literal ? listed(host) : ranges.length > 0;
      if (!ports.includes(port) && !mayBeListed) {
        throw refused(`port ${port} may not be called; allowed are ${ports.join(', ')}`);
      }
      if (literal && !allows(host, url)) throw refused('the address may not be called');
    },
    lookup: url => (host, options, callback) => {
      resolve(host, (error, found) => {
        if (error !== null) return callback(error, '', 0);
        const allowed = found.filter(({ address }) => allows(address, url));
        const [first] = allowed;
        if (first === undefined) return callback(forbidden(), '', 0);
        if (options.all === true) return callback(null, allowed);
        callback(null, first.address, first.family);
      });
    },
  };
}

/** The host as an address or a name: without the brackets of IPv6 and without the dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function portOf(url: URL): string {
  return url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
}

/** The error that stands for "this address may not be called". */
export function forbidden(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address may not be called.'), { code: forbiddenTarget });
}

/** IPv4-mapped IPv6 counts as the IPv4 address that it leads to. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // A zone ("%eth0") names an interface of this machine: never public.
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  return ipaddr.process(address);
}

/**
 * Public unicast. Of IPv6 only what is handed out, 2000::/3, besides: ipaddr.js calls ::7f00:1, which some systems still
 * translate to 127.0.0.1, unicast.
 */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6 | undefined): boolean {
  if (address?.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || matches(address, ipaddr.IPv6.parse('2000::'), 3);
}

function matches(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  range: ipaddr.IPv4 | ipaddr.IPv6,
  bits: number,
): boolean {
  return address.match([range, bits] as [ipaddr.IPv4, number] & [ipaddr.IPv6, number]);
}

function parseRange(entry: string): Range {
  try {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = ipaddr.parse(entry);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (error) {
    throw new PulsefeedError('EE-700', `PULSEFEED_PUSH_ALLOW: ${entry} is no network and no address.`, {
      cause: error,
    });
  }
}

function refused(why: string): PulsefeedError {
  return new PulsefeedError('EE-502', `The URL cannot be a callback: ${why}.`, { target: 'CallbackUrl' });
}
