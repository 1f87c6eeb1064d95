import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { type Agent, request } from 'undici';
import { messageOf } from './replication-error.ts';

/** An HTTP answer that was read to its end and decompressed. Header names are in lower case. */
export interface HttpAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Limits of one request, in milliseconds: to connect, to the headers, between two pieces of the body, and over all. */
export interface Timeouts {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly bodyMs: number;
  readonly totalMs: number;
}

/** Thrown by a `read` function for an answer that is not what was asked for; the request is tried again. */
export class BadAnswer extends Error {}

/** One request to be sent. */
export interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** The limits of sending. */
export interface SendOptions {
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends one request, reads its answer to the end and decompresses it. `holdMs` is added to the limits.
 * @throws BadAnswer for a body that is too long or cannot be decompressed; whatever the connection throws.
 */
export async function send(
  agent: Agent,
  options: SendOptions,
  url: string,
  holdMs: number,
  outgoing: Outgoing,
): Promise<HttpAnswer> {
  const { timeouts, signal } = options;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', abort);
  const totalMs = timeouts.totalMs + holdMs;
  const timer = setTimeout(() => controller.abort(new Error(`no complete answer in ${totalMs} ms`)), totalMs);
  try {
    const { statusCode, headers, body } = await request(url, {
      ...outgoing,
      dispatcher: agent,
      signal: controller.signal,
      headersTimeout: timeouts.headersMs + holdMs,
      bodyTimeout: timeouts.bodyMs,
    });
    const flat: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers))
      flat[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
    const bytes = await collect(body, options.maxBodyBytes);
    return {
      url,
      status: statusCode,
      headers: flat,
      text: await decode(bytes, flat['content-encoding'], options.maxBodyBytes),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

async function collect(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BadAnswer(`The answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
};

async function decode(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<string> {
  let plain = bytes;
  const name = (encoding ?? 'identity').trim().toLowerCase();
  if (name !== 'identity' && name !== '' && bytes.length > 0) {
    if (!Object.hasOwn(DECODERS, name))
      throw new BadAnswer(`The answer is compressed with ${name}, which was not offered`);
    try {
      plain = await DECODERS[name as keyof typeof DECODERS](bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      throw new BadAnswer(`The compressed answer cannot be read: ${messageOf(error)}`);
    }
  }
  return new TextDecoder().decode(plain);
}
