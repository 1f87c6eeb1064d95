import { PulsefeedError } from '../base/errors.ts';

/** The OData version of an answer. */
export type Version = '4.0' | '4.01';

/** How an answer is written: what the client asked for, resolved once. */
export interface Format {
  readonly version: Version;
  /**
   * `@odata.` before control information. Clients that name no version get 4.01 with the prefix, which both versions
   * allow and every client reads; only who asks for 4.01 by `OData-MaxVersion` gets the short names.
   */
  readonly prefix: '@odata.' | '@';
  readonly metadata: 'none' | 'minimal' | 'full';
  /** Int64 and Decimal as strings. */
  readonly ieee754: boolean;
  readonly streaming: boolean;
  readonly contentType: string;
}

/**
 * Picks the version: the greatest that is supported and not above `OData-MaxVersion`.
 * @throws EE-113 when none is, or the header is no version (Protocol 8.2.7, Web API Core 2.2.1).
 */
export function negotiateVersion(maxVersion: string | undefined): { version: Version; explicit: boolean } {
  const asked = maxVersion?.trim();
  if (asked === undefined || asked === '') return { version: '4.01', explicit: false };
  // Versions compare as decimals: 4.1 is above 4.01. The grammar bounds neither side of the dot; we do.
  const value = /^\d{1,20}\.\d{1,20}$/.test(asked) ? Number(asked) : Number.NaN;
  if (Number.isNaN(value) || value < 4) {
    throw new PulsefeedError('EE-113', `OData-MaxVersion ${JSON.stringify(asked)} is not supported.`, {
      target: 'OData-MaxVersion',
    });
  }
  return value < 4.01 ? { version: '4.0', explicit: true } : { version: '4.01', explicit: true };
}

/** The version for an answer that must be given whatever was asked: 4.01 where none can be agreed on. */
export function versionOr(maxVersion: string | undefined): Version {
  try {
    return negotiateVersion(maxVersion).version;
  } catch (error) {
    if (error instanceof PulsefeedError) return '4.01';
    throw error;
  }
}

/**
 * Checks the version in which the client says it speaks; one that names 4.0 and no OData-MaxVersion is answered in 4.0
 * (Web API Core 2.2.1).
 * @throws EE-113 for a version that is not supported.
 */
export function settleVersions<Headers extends Readonly<Record<string, string | undefined>>>(
  headers: Headers,
): Headers {
  const version = headers['odata-version']?.trim();
  if (version === undefined || version === '') return headers;
  if (!['4.0', '4.01'].includes(version)) {
    throw new PulsefeedError('EE-113', `OData-Version ${JSON.stringify(version)} is not supported.`, {
      target: 'OData-Version',
    });
  }
  return version === '4.0' && headers['odata-maxversion'] === undefined
    ? { ...headers, 'odata-maxversion': '4.0' }
    : headers;
}

/**
 * Picks the JSON format from `$format`, else from `Accept`.
 * @throws EE-109 when nothing that is acceptable can be served (Protocol 8.2.1, JSON Format 3).
 */
export function negotiateJson(
  accept: string | undefined,
  formatOption: string | undefined,
  maxVersion: string | undefined,
): Format {
  const { version, explicit } = negotiateVersion(maxVersion);
  const short = explicit && version === '4.01';
  const range = formatOption === undefined ? bestJsonRange(accept) : formatFromOption(formatOption);
  if (range === undefined) {
    throw new PulsefeedError('EE-109', 'Only application/json is served here.', {
      target: formatOption === undefined ? 'Accept' : '$format',
    });
  }
  // With full metadata the annotations of properties stand together in front, not each before its property.
  const streaming = range.streaming && range.metadata !== 'full';
  const name = short ? 'metadata' : 'odata.metadata';
  const parameters = [
    `${name}=${range.metadata}`,
    streaming ? `${short ? 'streaming' : 'odata.streaming'}=true` : '',
    range.ieee754 ? 'IEEE754Compatible=true' : '',
    range.charset ? 'charset=utf-8' : '',
  ].filter(part => part !== '');
  return {
    version,
    prefix: short ? '@' : '@odata.',
    metadata: range.metadata,
    ieee754: range.ieee754,
    streaming,
    contentType: `application/json;${parameters.join(';')}`,
  };
}

interface JsonRange {
  readonly metadata: Format['metadata'];
  readonly ieee754: boolean;
  readonly streaming: boolean;
  readonly charset: boolean;
  readonly quality: number;
}

/** A media range with its parameters, names in lower case. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Reads an Accept header; what cannot be read as a media range is passed over. */
export function parseAccept(accept: string): MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const part of splitOutsideQuotes(accept, ',')) {
    const [type = '', ...rest] = splitOutsideQuotes(part, ';').map(piece => piece.trim());
    if (!/^[^\s/]+\/[^\s/]+$/.test(type)) continue;
    const parameters = new Map<string, string>();
    let quality = 1;
    for (const piece of rest) {
      const [name = '', value = ''] = piece.split(/=(.*)/s).map(text => text.trim());
      if (name.toLowerCase() === 'q') quality = Number.isNaN(Number(value)) ? 0 : Number(value);
      else if (name !== '') parameters.set(name.toLowerCase(), value.replace(/^"(.*)"$/s, '$1'));
    }
    ranges.push({ type: type.toLowerCase(), parameters, quality });
  }
  return ranges;
}

function bestJsonRange(accept: string | undefined): JsonRange | undefined {
  if (accept === undefined || accept.trim() === '') return plainJson;
  let best: JsonRange | undefined;
  for (const range of parseAccept(accept)) {
    const json = range.quality > 0 ? asJson(range) : undefined;
    if (json !== undefined && (best === undefined || json.quality > best.quality)) best = json;
  }
  return best;
}

const plainJson: JsonRange = {
  metadata: 'minimal',
  ieee754: false,
  streaming: false,
  charset: false,
  quality: 1,
};

/** The JSON that a range asks for, or undefined when it asks for something that is not served. */
function asJson(range: MediaRange): JsonRange | undefined {
  if (!['application/json', 'application/*', '*/*'].includes(range.type)) return undefined;
  let metadata: Format['metadata'] = 'minimal';
  let ieee754 = false;
  let streaming = false;
  let charset = false;
  for (const [name, raw] of range.parameters) {
    const value = raw.toLowerCase();
    switch (name) {
      case 'metadata':
      case 'odata.metadata':
        if (value !== 'none' && value !== 'minimal' && value !== 'full') return undefined;
        metadata = value;
        break;
      case 'ieee754compatible':
        if (value !== 'true' && value !== 'false') return undefined;
        ieee754 = value === 'true';
        break;
      case 'streaming':
      case 'odata.streaming':
        if (value !== 'true' && value !== 'false') return undefined;
        streaming = value === 'true';
        break;
      case 'charset':
        if (value !== 'utf-8' && value !== 'utf8') return undefined;
        charset = true;
        break;
      default:
        // Unknown format parameters must not be ignored (JSON Format 3).
        return undefined;
    }
  }
  return { metadata, ieee754, streaming, charset, quality: range.quality };
}

/** `$format`: the abbreviation json, or a whole media type. It goes before Accept (Protocol 11.2.12). */
function formatFromOption(option: string): JsonRange | undefined {
  if (option.toLowerCase() === 'json') return plainJson;
  const [range] = parseAccept(option);
  return range === undefined || range.type === '*/*' ? undefined : asJson(range);
}

/** True when XML is what `$metadata` should be written in: the default, and what most clients can read. */
export function wantsXml(accept: string | undefined, formatOption: string | undefined): boolean {
  if (formatOption !== undefined) {
    const option = formatOption.toLowerCase();
    if (option === 'xml' || option.startsWith('application/xml')) return true;
    if (option === 'json' || option.startsWith('application/json')) return false;
    throw new PulsefeedError('EE-109', 'Metadata is served as application/xml or application/json.', {
      target: '$format',
    });
  }
  if (accept === undefined || accept.trim() === '') return true;
  let xml = 0;
  let json = 0;
  for (const { type, quality } of parseAccept(accept)) {
    if (type === 'application/json') json = Math.max(json, quality);
    else if (['application/xml', 'text/xml', 'application/*', '*/*'].includes(type))
      xml = Math.max(xml, quality);
  }
  if (xml === 0 && json === 0) {
    throw new PulsefeedError('EE-109', 'Metadata is served as application/xml or application/json.', {
      target: 'Accept',
    });
  }
  return xml >= json;
}

/** True when text/plain will do; most clients ask for JSON out of habit where only text can come, and get it. */
export function acceptsText(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return parseAccept(accept).some(
    ({ type, quality }) =>
      quality > 0 && ['text/plain', 'text/*', '*/*', 'application/json', 'application/*'].includes(type),
  );
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '"') quoted = !quoted;
    else if (text[i] === separator && !quoted) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
