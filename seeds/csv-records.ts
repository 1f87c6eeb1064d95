import { parse } from 'csv-parse/sync';
import { PulsefeedError } from '../server/base/errors.ts';
import { scanCsv } from './csv-scan.ts';
import { type FaultList, faultText, type Place } from './input-fault.ts';
import { type FieldValue, fieldNames, type InputRecord, type WantedFields } from './input-record.ts';
import { type TextLine, withoutReturn } from './text-lines.ts';

/** Longest record that may go over several lines. Beyond it a quote was left open. */
export const mostRecordChars = 262_144;

/** The text of a record and the line it begins on. */
interface RawRecord {
  readonly text: string;
  readonly line: number;
}

/**
 * Reads the records of a CSV file (RFC 4180, comma, UTF-8, the first line names the columns) in batches. A record
 * whose quotes are broken or that has too few or too many fields becomes a fault, and reading goes on with the next
 * line. Empty lines are passed over. @throws EE-706 when the header is missing, broken, or lacks a required column.
 */
export async function* readCsv(
  lines: AsyncIterable<readonly TextLine[]>,
  file: string,
  wanted: WantedFields,
  faults: FaultList,
): AsyncGenerator<InputRecord[]> {
  const names = fieldNames(wanted);
  const assembler = new RecordAssembler(faults);
  let columns: Columns | undefined;
  for await (const batch of lines) {
    for (const line of batch) {
      if (columns === undefined) columns = readHeader(line, file, wanted, names);
      else assembler.push(line, columns.count);
    }
    if (columns !== undefined) yield parseBatch(assembler.take(), columns, faults);
  }
  if (columns === undefined) throw refuse(file, { line: 1, column: 1 }, 'the file is empty');
  assembler.end(columns.count);
  yield parseBatch(assembler.take(), columns, faults);
}

interface Columns {
  readonly count: number;
  /** For each wanted field its column, -1 where there is none. */
  readonly indexes: readonly number[];
}

function readHeader(line: TextLine, file: string, wanted: WantedFields, names: readonly string[]): Columns {
  if (line.fault !== undefined) {
    throw refuse(file, { line: line.number, column: line.fault.column }, line.fault.message);
  }
  const text = withoutReturn(line.text);
  const { starts, problem } = scanCsv(text);
  if (problem !== undefined) throw refuse(file, { line: 1, column: problem.offset + 1 }, problem.message);
  const header = parseOne(text) ?? [];
  for (const name of wanted.required) {
    if (header.includes(name)) continue;
    const known = header.map(column => JSON.stringify(column)).join(', ');
    throw refuse(file, { line: 1, column: 1 }, `there is no column ${JSON.stringify(name)}, only ${known}`);
  }
  for (const name of names) {
    const second = header.indexOf(name, header.indexOf(name) + 1);
    if (header.includes(name) && second !== -1) {
      const column = (starts[second] ?? 0) + 1;
      throw refuse(file, { line: 1, column }, `column ${JSON.stringify(name)} is there twice`);
    }
  }
  return { count: header.length, indexes: names.map(name => header.indexOf(name)) };
}

function refuse(file: string, place: Place, message: string): PulsefeedError {
  return new PulsefeedError('EE-706', faultText({ file, ...place, message }));
}

/**
 * Puts lines together to records: a record ends with the line at which the number of its quotes is even. When one
 * that goes over several lines is broken, only its first line is blamed and the others are read again by themselves:
 * one quote left open must not take the rest of the file with it.
 */
class RecordAssembler {
  #open: TextLine[] = [];
  #openChars = 0;
  #oddQuotes = false;
  #ready: RawRecord[] = [];
  readonly #faults: FaultList;

  constructor(faults: FaultList) {
    this.#faults = faults;
  }

  push(line: TextLine, columns: number): void {
    // Lines to read again are at the end: an array is popped without moving the others.
    const waiting = [line];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      waiting.push(...this.#pushOne(next, columns).reverse());
    }
  }

  /** The file has ended: what is open is broken. */
  end(columns: number): void {
    while (this.#open.length > 0) {
      for (const line of this.#giveUp()) this.push(line, columns);
    }
  }

  take(): RawRecord[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Returns lines that are to be read again. */
  #pushOne(line: TextLine, columns: number): TextLine[] {
    if (line.fault !== undefined) {
      if (this.#open.length > 0) return [...this.#giveUp(), line];
      this.#faults.add({ line: line.number, column: line.fault.column }, line.fault.message, line.text);
      return [];
    }
    if (this.#open.length === 0 && withoutReturn(line.text) === '') return [];
    this.#open.push(line);
    this.#openChars += line.text.length + 1;
    if (hasOddQuotes(line.text)) this.#oddQuotes = !this.#oddQuotes;
    if (this.#oddQuotes) return this.#openChars > mostRecordChars ? this.#giveUp() : [];
    const text = withoutReturn(this.#open.map(open => open.text).join('\n'));
    if (this.#open.length > 1 && parseOne(text)?.length !== columns) return this.#giveUp();
    this.#ready.push({ text, line: this.#open[0]?.number ?? line.number });
    this.#reset();
    return [];
  }

  #giveUp(): TextLine[] {
    const [first, ...rest] = this.#open;
    this.#reset();
    if (first === undefined) return [];
    const text = withoutReturn(first.text);
    const { problem } = scanCsv(text);
    const column = (problem?.offset ?? text.length) + 1;
    this.#faults.add({ line: first.number, column }, problem?.message ?? 'the record is broken', text);
    return rest;
  }

  #reset(): void {
    this.#open = [];
    this.#openChars = 0;
    this.#oddQuotes = false;
  }
}

function hasOddQuotes(text: string): boolean {
  let odd = false;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) odd = !odd;
  return odd;
}

function parseBatch(records: readonly RawRecord[], columns: Columns, faults: FaultList): InputRecord[] {
  const texts = records.map(({ text }) => text).join('\n');
  const parsed = records.length === 0 ? [] : parseAll(texts);
  const good: InputRecord[] = [];
  for (const [n, record] of records.entries()) {
    // One broken record fails the whole batch; then each is parsed by itself.
    const values = parsed?.length === records.length ? parsed[n] : parseOne(record.text);
    const fault = faultOf(record, values, columns.count);
    if (fault !== undefined) faults.add(fault.place, fault.message, record.text);
    else if (values !== undefined) good.push(toRecord(record, values, columns));
  }
  return good;
}

function faultOf(record: RawRecord, values: readonly string[] | undefined, columns: number) {
  if (values?.length === columns) return undefined;
  const { starts, problem } = scanCsv(record.text);
  if (values === undefined || problem !== undefined) {
    const { offset, message } = problem ?? { offset: 0, message: 'the record is broken' };
    return { place: placeOf(record, offset), message };
  }
  const offset = starts[columns] ?? record.text.length;
  return { place: placeOf(record, offset), message: `expected ${columns} fields, found ${values.length}` };
}

function toRecord(record: RawRecord, values: readonly string[], columns: Columns): InputRecord {
  return {
    line: record.line,
    text: record.text,
    values: columns.indexes.map((index): FieldValue => {
      const value = values[index];
      return value === '' ? null : value;
    }),
    place: field => placeOf(record, scanCsv(record.text).starts[columns.indexes[field] ?? 0] ?? 0),
  };
}

function placeOf(record: RawRecord, offset: number): Place {
  const before = record.text.slice(0, offset).split('\n');
  return { line: record.line + before.length - 1, column: (before.at(-1)?.length ?? 0) + 1 };
}

function parseOne(text: string): string[] | undefined {
  const parsed = parseAll(text);
  return parsed?.length === 1 ? parsed[0] : undefined;
}

function parseAll(text: string): string[][] | undefined {
  try {
    return parse(text, { record_delimiter: '\n', relax_column_count: true });
  } catch {
    return undefined;
  }
}
