import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { messageOf, ReplicationError } from '../replication-error.ts';
import type { Applied, Batch, RecordRef, Store, Upsert } from '../store.ts';
import { batchLines, cursorLine, readLine, readRecord } from './ndjson-lines.ts';

/**
 * A store in one file of JSON lines: `{"@resource","@key","@generation","record"}` per record. Each batch is appended in one
 * write that ends with its cursor line, so data and cursor are one; whatever follows the last whole batch is cut off at the next
 * opening. Closing rewrites the file to one line per record and one cursor. Only the names of the records are held in memory.
 */
export function ndjsonStore(path: string, options: NdjsonStoreOptions = {}): Store {
  return new NdjsonStore(path, options.compactAfter ?? 100_000);
}

/** Settings of an NDJSON copy. */
export interface NdjsonStoreOptions {
  /** The file is also rewritten while open, when this many lines are dead and they outnumber the live ones three to one; 100,000 by default. */
  readonly compactAfter?: number;
}

interface Place {
  readonly at: number;
  readonly length: number;
  readonly generation: number;
}

/**
 * State: `file` while open; `index` says where the line of each record stands; `size` is the end of the last whole batch.
 * Invariant: everything up to `size` is on disk and closed by a cursor line.
 */
class NdjsonStore implements Store {
  readonly #path: string;
  readonly #compactAfter: number;
  readonly #token = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  readonly #index = new Map<string, Map<string, Place>>();
  #file: FileHandle | undefined;
  #size = 0;
  #dead = 0;
  #cursor: string | undefined;

  constructor(path: string, compactAfter: number) {
    this.#path = path;
    this.#compactAfter = compactAfter;
  }

  get #lock(): string {
    return `${this.#path}.lock`;
  }

  async open(): Promise<void> {
    if (this.#file) return;
    await guarded(async () => {
      await this.#takeLock();
      const file = await openOrCreate(this.#path);
      try {
        await this.#load(file);
      } catch (error) {
        await file.close();
        throw error;
      }
      this.#file = file;
    });
  }

  async cursor(): Promise<string | undefined> {
    return this.#cursor;
  }

  async apply(batch: Batch): Promise<Applied> {
    const file = this.#opened();
    await this.#checkLock();
    const { lines, text } = batchLines(batch, []);
    await guarded(async () => {
      try {
        await writeAll(file, Buffer.from(text), this.#size);
        await file.datasync();
      } catch (error) {
        // A full disk leaves half a batch; cutting it off is tidy, the next opening would do it as well.
        await file.truncate(this.#size).catch(() => {});
        throw error;
      }
    });
    let at = this.#size;
    batch.upserts.forEach((upsert, n) => {
      const length = Buffer.byteLength(lines[n] ?? '');
      this.#place(upsert, { at, length, generation: batch.generation });
      at += length;
    });
    for (const ref of batch.deletes) this.#forget(ref);
    this.#dead += batch.deletes.length + (this.#cursor === undefined ? 0 : 1);
    this.#size += Buffer.byteLength(text);
    this.#cursor = batch.cursor([]);
    const live = [...this.#index.values()].reduce((sum, places) => sum + places.size, 0);
    if (this.#dead >= this.#compactAfter && this.#dead > live * 3) await guarded(() => this.#rewrite());
    return { deferred: [] };
  }

  async stale(generation: number, limit: number): Promise<readonly RecordRef[]> {
    const found: RecordRef[] = [];
    for (const [resource, places] of this.#index) {
      for (const [key, place] of places) {
        if (place.generation >= generation) continue;
        found.push({ resource, key });
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  async *records(resource: string): AsyncGenerator<Upsert> {
    for (const place of [...(this.#index.get(resource)?.values() ?? [])]) {
      yield await guarded(async () => readRecord(await this.#line(place)));
    }
  }

  async has(resource: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys.filter(key => this.#index.get(resource)?.has(key)));
  }

  async close(): Promise<void> {
    const file = this.#file;
    if (!file) return;
    const mine = await this.#ownsLock();
    if (mine && this.#dead > 0) await guarded(() => this.#compact());
    this.#file = undefined;
    await file.close();
    if (mine) await rm(this.#lock, { force: true });
  }

  #opened(): FileHandle {
    if (!this.#file) throw new ReplicationError('store', 'The store is not open.');
    return this.#file;
  }

  #place({ resource, key }: RecordRef, place: Place): void {
    const places = this.#index.get(resource) ?? new Map<string, Place>();
    this.#index.set(resource, places);
    if (places.has(key)) this.#dead++;
    places.set(key, place);
  }

  #forget({ resource, key }: RecordRef): void {
    if (this.#index.get(resource)?.delete(key)) this.#dead++;
  }

  async #line({ at, length }: Place): Promise<string> {
    const { buffer, bytesRead } = await this.#opened().read(Buffer.alloc(length), 0, length, at);
    if (bytesRead !== length) throw new Error(`The file ends before byte ${at + length}.`);
    return buffer.toString().trimEnd();
  }

  /** Reads the file once, batch by batch; a batch counts only with a cursor line whose checksum is right. */
  async #load(file: FileHandle): Promise<void> {
    const batch: (() => void)[] = [];
    let checksum = 0;
    let broken = false;
    for await (const { bytes, at } of wholeLines(file)) {
      const line = readLine(bytes.toString());
      const length = bytes.length + 1;
      if (line?.kind === 'cursor') {
        if (broken || line.crc32 !== checksum) break;
        for (const act of batch.splice(0)) act();
        this.#dead += this.#cursor === undefined ? 0 : 1;
        this.#cursor = line.cursor;
        this.#size = at + length;
        checksum = 0;
        continue;
      }
      broken ||= line === undefined;
      checksum = crc32('\n', crc32(bytes, checksum));
      if (line?.kind === 'deleted')
        batch.push(
          () => this.#forget(line),
          () => this.#dead++,
        );
      else if (line) batch.push(() => this.#place(line, { at, length, generation: line.generation }));
    }
    const { size } = await file.stat();
    if (size > 0 && this.#cursor === undefined && (await looksForeign(file))) {
      throw new Error(`${this.#path} is not a copy made by this program.`);
    }
    await file.truncate(this.#size);
  }

  /** Writes the live lines and the cursor to a new file, then puts it in the place of the old one. */
  async #compact(): Promise<void> {
    if (this.#cursor === undefined) return;
    const temporary = `${this.#path}.compacting`;
    const target = await open(temporary, 'w');
    try {
      let checksum = 0;
      const places = [...this.#index.values()].flatMap(map => [...map.values()]).sort((a, b) => a.at - b.at);
      let held: string[] = [];
      const flush = async () => {
        const chunk = Buffer.from(held.join(''));
        checksum = crc32(chunk, checksum);
        await target.appendFile(chunk);
        held = [];
      };
      for (const place of places) {
        held.push(`${await this.#line(place)}\n`);
        if (held.length >= 500) await flush();
      }
      await flush();
      await target.appendFile(cursorLine(this.#cursor, checksum));
      await target.sync();
    } finally {
      await target.close();
    }
    await rename(temporary, this.#path);
    await syncDirectory(dirname(this.#path));
  }

  async #rewrite(): Promise<void> {
    await this.#compact();
    await this.#opened().close();
    this.#index.clear();
    this.#size = 0;
    this.#dead = 0;
    this.#cursor = undefined;
    this.#file = await open(this.#path, 'r+');
    await this.#load(this.#file);
  }

  async #takeLock(): Promise<void> {
    const held = await readFile(this.#lock, 'utf8').catch(() => undefined);
    const { pid, host } = readToken(held);
    if (host === hostname() && pid !== process.pid && isAlive(pid)) {
      throw new ReplicationError('not-alone', `Process ${pid} is writing to ${this.#path}.`);
    }
    await writeFile(this.#lock, this.#token);
  }

  async #ownsLock(): Promise<boolean> {
    return (await readFile(this.#lock, 'utf8').catch(() => undefined)) === this.#token;
  }

  async #checkLock(): Promise<void> {
    if (!(await this.#ownsLock()))
      throw new ReplicationError('not-alone', `Another process has taken over ${this.#path}.`);
  }
}

async function guarded<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof ReplicationError) throw cause;
    throw new ReplicationError('store', `NDJSON: ${messageOf(cause)}`, { cause });
  }
}

async function openOrCreate(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+');
  } catch {
    return open(path, 'w+');
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** The lines that end with a newline, with the byte each begins at. */
async function* wholeLines(file: FileHandle): AsyncGenerator<{ bytes: Buffer; at: number }> {
  const chunk = Buffer.alloc(1 << 20);
  let rest: Buffer = Buffer.alloc(0);
  let start = 0;
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    rest = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    let from = 0;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, from)) {
      yield { bytes: rest.subarray(from, end), at: start + from };
      from = end + 1;
    }
    start += from;
    rest = rest.subarray(from);
  }
}

/** Keeps a wrong path from emptying somebody's file: a torn first batch begins like ours, anything else does not. */
async function looksForeign(file: FileHandle): Promise<boolean> {
  const begin = '{"@';
  const { buffer, bytesRead } = await file.read(Buffer.alloc(begin.length), 0, begin.length, 0);
  const text = buffer.subarray(0, bytesRead).toString();
  return !begin.startsWith(text);
}

async function syncDirectory(path: string): Promise<void> {
  // Not possible on every platform; there the rename is as safe as the platform makes it.
  const directory = await open(path, 'r').catch(() => undefined);
  await directory?.sync().catch(() => {});
  await directory?.close();
}

function readToken(text: string | undefined): { pid: number; host: string | undefined } {
  try {
    const { pid, host } = JSON.parse(text ?? '{}') as { pid?: unknown; host?: unknown };
    return { pid: Number(pid), host: typeof host === 'string' ? host : undefined };
  } catch {
    return { pid: Number.NaN, host: undefined };
  }
}

function isAlive(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, as another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
