import type { IncomingMessage } from 'node:http';
import { PulsefeedError } from '../errors.ts';

/**
 * Reads a request body as UTF-8 text; undefined when the request has none.
 * @throws EE-110 beyond `maxBytes`, EE-111 for a content encoding, EE-100 for bytes that are no UTF-8.
 */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0'))
    return undefined;
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new PulsefeedError('EE-111', 'Bodies are taken without content encoding.', {
      target: 'Content-Encoding',
    });
  }
  // A declared length is refused before a byte of it is read.
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new PulsefeedError('EE-100', 'The body is not UTF-8.', { cause: error });
  }
}

/** The connection ends with the answer: what the client is still sending is not read. */
function tooLarge(maxBytes: number): PulsefeedError {
  return new PulsefeedError('EE-110', `A body may have ${maxBytes} bytes at most.`, {
    headers: { Connection: 'close' },
  });
}
