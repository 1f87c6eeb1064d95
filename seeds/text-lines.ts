import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { PulsefeedError } from '../server/base/errors.ts';

/** One line of a text file without its line feed; a carriage return before it is still there. */
export interface TextLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** Set when the line cannot be used; `text` is then what could be read of it. */
  readonly fault?: { readonly column: number; readonly message: string };
}

/** The text of a line that may have ended in CR LF. */
export function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** Longest line that is taken; what is longer is no record but a file of another kind or a quote left open. */
export const mostLineBytes = 1_048_576;

/** Told as the file is read: bytes of it so far, and all. Compressed bytes where it is compressed. */
export type OnBytes = (done: number, total: number) => void;

/**
 * Reads a UTF-8 file, `.gz` decompressed, as batches of lines. Holds one piece of the file and one line at a time.
 * Lines that are not UTF-8 or too long carry a fault; so does the place where a damaged or cut off `.gz` ends, with
 * nothing after it. @throws EE-706 when the file cannot be read.
 */
export async function* readLines(
  path: string,
  name: string,
  onBytes: OnBytes = () => undefined,
): AsyncGenerator<TextLine[]> {
  const splitter = new LineSplitter();
  let ended: string | undefined;
  try {
    const { size } = await stat(path);
    const source = createReadStream(path, { highWaterMark: 262_144 });
    const stream = path.endsWith('.gz') ? source.pipe(createGunzip()) : source;
    source.on('error', error => stream.destroy(error));
    try {
      for await (const piece of stream) {
        const lines = splitter.push(piece as Buffer);
        onBytes(source.bytesRead, size);
        if (lines.length > 0) yield lines;
      }
    } catch (error) {
      ended = gzipFault(error);
    } finally {
      source.destroy();
    }
  } catch (error) {
    if (error instanceof PulsefeedError) throw error;
    throw new PulsefeedError('EE-706', `${name}: ${reason(error)}`, { cause: error });
  }
  const last = splitter.end(ended);
  if (last.length > 0) yield last;
}

function gzipFault(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'Z_BUF_ERROR') return 'the compressed file is cut off here';
  if (code.startsWith('Z_')) return `the compressed file is damaged here (${(error as Error).message})`;
  throw error;
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES') return 'the file may not be read';
  if (code === 'EISDIR') return 'this is a folder';
  return `the file cannot be read: ${message}`;
}

const lineFeed = 10;

/** Cuts bytes into lines. A line feed is never part of another UTF-8 character, so lines are cut before decoding. */
class LineSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #number = 0;
  /** Inside a line that was given up for its length. */
  #skipping = false;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  push(piece: Buffer): TextLine[] {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    if (this.#skipping) {
      const end = bytes.indexOf(lineFeed);
      if (end === -1) {
        this.#rest = Buffer.alloc(0);
        return [];
      }
      this.#skipping = false;
      bytes = bytes.subarray(end + 1);
    }
    const end = bytes.lastIndexOf(lineFeed);
    const lines = end === -1 ? [] : this.#lines(bytes.subarray(0, end));
    this.#rest = Buffer.from(bytes.subarray(end + 1));
    if (this.#rest.length > mostLineBytes) {
      this.#number += 1;
      lines.push(tooLong(this.#number));
      this.#skipping = true;
      this.#rest = Buffer.alloc(0);
    }
    return lines;
  }

  /** The last line, unless the file ended before its end was sure. */
  end(fault: string | undefined): TextLine[] {
    const rest = this.#rest;
    if (fault !== undefined) {
      const number = this.#number + 1;
      const text = new TextDecoder().decode(rest);
      return [{ number, text, fault: { column: text.length + 1, message: fault } }];
    }
    return rest.length === 0 ? [] : this.#lines(rest);
  }

  #lines(block: Buffer): TextLine[] {
    let text: string | undefined;
    try {
      text = this.#decoder.decode(block);
    } catch {
      return this.#linesOneByOne(block);
    }
    return text.split('\n').map(line => this.#line(line));
  }

  #line(text: string): TextLine {
    this.#number += 1;
    if (text.length > mostLineBytes) return tooLong(this.#number);
    // A byte order mark stands at the beginning of the file only.
    return {
      number: this.#number,
      text: this.#number === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text,
    };
  }

  #linesOneByOne(block: Buffer): TextLine[] {
    const lines: TextLine[] = [];
    for (let start = 0; start <= block.length; ) {
      const end = block.indexOf(lineFeed, start);
      const bytes = block.subarray(start, end === -1 ? block.length : end);
      lines.push(this.#lineOrFault(bytes));
      start += bytes.length + 1;
    }
    return lines;
  }

  #lineOrFault(bytes: Buffer): TextLine {
    try {
      return this.#line(this.#decoder.decode(bytes));
    } catch {
      this.#number += 1;
      const valid = validPrefix(bytes);
      return {
        number: this.#number,
        text: new TextDecoder().decode(bytes),
        fault: { column: valid.length + 1, message: 'this is not UTF-8' },
      };
    }
  }
}

function tooLong(number: number): TextLine {
  return {
    number,
    text: '',
    fault: { column: 1, message: `the line is longer than ${mostLineBytes} bytes` },
  };
}

/** The longest beginning that is UTF-8. A beginning of valid text is valid but for its last character, so halving finds it. */
function validPrefix(bytes: Buffer): string {
  const decode = (length: number): string | undefined => {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length), {
        stream: true,
      });
    } catch {
      return undefined;
    }
  };
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (decode(middle) === undefined) bad = middle;
    else good = middle;
  }
  return decode(good) ?? '';
}
