import { requireScope, type Viewer } from '../base/auth/viewer.ts';
import { matchKey } from '../base/catalog/index.ts';
import { type Queryable, quoteIdentifier } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityRow, EntityWriter, WriteRequest } from '../edm/entity-set.ts';
import type { Allowed } from '../visibility/index.ts';
import type { NewKey } from './new-key.ts';
import { etagOf, etagSql } from './row-etag.ts';
import {
  quotedAlias,
  type RecordContext,
  type RecordResource,
  rowAlias,
  ruleVersion,
  visibleSql,
} from './schema.ts';
import { startStatement } from './statement.ts';
import { readWriteBody, type WriteBody } from './write-body.ts';
import { assignments, bodyValueSql } from './write-columns.ts';
import { writeFault } from './write-fault.ts';
import { writeRow } from './written-row.ts';

/** Milliseconds; a writer that waits longer for a row or a lock is told so. */
const writeTimeoutMs = 30_000;

/**
 * Writes records into the provider's own table; the capture trigger tells the log in the same transaction, so there is
 * no second way for a change. A consumer changes and deletes only what the one predicate lets it see, and, within a
 * change set, what that set has written already; the operator, to whom the table belongs, any record.
 */
export function recordWriter(
  context: RecordContext,
  resource: RecordResource,
  newKey: NewKey | undefined,
): EntityWriter {
  return {
    async create(body, request) {
      requireScope(request.viewer, 'write');
      const read = readWriteBody(resource, body, 'create');
      const row = await inTransaction(context, resource, request, tx =>
        insert(tx, resource, read, body, request, newKey),
      );
      context.written.note(request.tx, resource, row.key[0] ?? '');
      return row;
    },
    async update([key = ''], body, request) {
      requireScope(request.viewer, 'write');
      const read = readWriteBody(resource, body, request.replace ? 'replace' : 'change');
      if (read.key !== undefined && read.key !== key) {
        const message = 'The key of a record cannot be changed.';
        const target = resource.type.key[0] ?? '';
        throw new PulsefeedError('EE-114', message, { details: [{ code: 'EE-114', target, message }] });
      }
      return onRecord(context, request.viewer, allowed =>
        inTransaction(context, resource, request, async tx => {
          const found = await lockRow(tx, context, resource, key, request, allowed);
          if (!found.usable) return { ruleVersion: found.version, result: undefined };
          checkMatch(found.etag, request);
          const result = await change(tx, resource, key, read, body, request);
          context.written.note(request.tx, resource, key);
          return { ruleVersion: found.version, result };
        }),
      );
    },
    async remove([key = ''], request) {
      requireScope(request.viewer, 'write');
      return onRecord(context, request.viewer, allowed =>
        inTransaction(context, resource, request, async tx => {
          const found = await lockRow(tx, context, resource, key, request, allowed);
          if (!found.usable) return { ruleVersion: found.version, result: false };
          checkMatch(found.etag, request);
          const { table } = resource;
          await tx.query({
            text: `delete from ${table.quoted} ${rowAlias} where ${matchKey(table, quotedAlias, '$1::text')}`,
            values: [key],
          });
          return { ruleVersion: found.version, result: true };
        }),
      );
    },
  };
}

/** Runs a change of one record: of a consumer under the rules that are current, of the operator under none. */
async function onRecord<T>(
  { policy }: RecordContext,
  viewer: Viewer,
  work: (allowed: Allowed) => Promise<{ readonly ruleVersion: number; readonly result: T }>,
): Promise<T> {
  return isOperator(viewer) ? (await work(unrestricted)).result : policy.read(viewer, work);
}

function isOperator({ consumerId, scopes }: Viewer): boolean {
  return consumerId === undefined && scopes.has('admin');
}

async function inTransaction<T>(
  { write }: RecordContext,
  resource: RecordResource,
  { tx }: WriteRequest,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  try {
    return await (tx === undefined
      ? write(work, { statementTimeoutMs: writeTimeoutMs, idleTimeoutMs: writeTimeoutMs })
      : work(tx));
  } catch (error) {
    throw writeFault(error, resource);
  }
}

async function insert(
  tx: Queryable,
  resource: RecordResource,
  { fields, key }: WriteBody,
  body: string,
  request: WriteRequest,
  newKey: NewKey | undefined,
): Promise<EntityRow> {
  const { table } = resource;
  const w = startStatement();
  const json = `${w.bind(body)}::json`;
  const columns = fields.map(({ column }) => quoteIdentifier(column.name));
  const values = fields.map(field => bodyValueSql(field, json));
  if (key === undefined && !table.key.hasDefault && !table.key.generated) {
    if (newKey === undefined) {
      const [target = ''] = resource.type.key;
      const message = `${target} is required.`;
      throw new PulsefeedError('EE-114', message, { details: [{ code: 'EE-114', target, message }] });
    }
    columns.push(quoteIdentifier(table.key.name));
    values.push(`${w.bind(newKey())}::text::${table.key.type}`);
  }
  const into =
    columns.length === 0 ? 'default values' : `(${columns.join(', ')}) values (${values.join(', ')})`;
  // The body is bound whether a field takes a value from it or not.
  const text = (returning: string) => `
with body as (select ${json})
insert into ${table.quoted} as ${rowAlias} ${into}
returning ${returning}`;
  return writeRow(tx, resource, request, w, text);
}

async function change(
  tx: Queryable,
  resource: RecordResource,
  key: string,
  { fields }: WriteBody,
  body: string,
  request: WriteRequest & { readonly replace: boolean },
): Promise<EntityRow> {
  const { table } = resource;
  const w = startStatement();
  const json = `${w.bind(body)}::json`;
  const set = assignments(resource, fields, json, request.replace);
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  // A body that changes nothing is no change: the record is only read.
  const text = (returning: string) =>
    set.length === 0
      ? `with body as (select ${json}) select ${returning} from ${table.quoted} ${rowAlias} where ${match}`
      : `with body as (select ${json}) update ${table.quoted} as ${rowAlias} set ${set.join(', ')} where ${match} returning ${returning}`;
  return writeRow(tx, resource, request, w, text);
}

/** What the operator may change. */
const unrestricted: Allowed = {
  version: 0,
  held: () => undefined,
  records: () => ({ text: 'true', values: [] }),
  recordsAs: () => 'true',
};

interface LockedRow {
  readonly version: number;
  readonly usable: boolean;
  readonly etag: string;
}

/** Locks the row if the viewer may see it, under the rules that the reader was allowed for. */
async function lockRow(
  tx: Queryable,
  context: RecordContext,
  resource: RecordResource,
  key: string,
  request: WriteRequest,
  allowed: Allowed,
): Promise<LockedRow> {
  const { table } = resource;
  const w = startStatement();
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  const own = context.written.has(request.tx, resource, key);
  const visible = own ? 'true' : visibleSql(allowed, table.config.name, quotedAlias, w);
  const anyRules = isOperator(request.viewer);
  const lock = table.versioned ? `for update of ${rowAlias}` : '';
  const [row] = await tx.query<{ version: number; etag: string }>({
    text: `
select ${ruleVersion} as version, ${etagSql(table, quotedAlias)} as etag
from ${table.quoted} ${rowAlias} where ${match} and ${visible} ${lock}`,
    values: w.values,
  });
  if (row !== undefined) {
    const usable = anyRules || row.version === allowed.version;
    return { version: row.version, usable, etag: etagOf(row.etag) };
  }
  const [now] = await tx.query<{ version: number }>({ text: `select ${ruleVersion} as version` });
  return { version: now?.version ?? 0, usable: false, etag: '' };
}

function checkMatch(etag: string, { matches }: WriteRequest): void {
  if (matches === undefined || matches(etag)) return;
  throw new PulsefeedError('EE-116', 'The record is not in the state that If-Match names.', {
    target: 'If-Match',
  });
}
