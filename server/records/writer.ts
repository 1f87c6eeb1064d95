import { requireScope } from '../base/auth/viewer.ts';
import { keyText, matchKey } from '../base/catalog/index.ts';
import { type Queryable, quoteIdentifier } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityRow, EntityWriter, WriteRequest } from '../edm/entity-set.ts';
import type { Allowed } from '../visibility/index.ts';
import type { NewKey } from './new-key.ts';
import { etagOf, etagSql } from './row-etag.ts';
import { rowJson } from './row-json.ts';
import {
  quotedAlias,
  type RecordContext,
  type RecordResource,
  rowAlias,
  ruleVersion,
  visibleSql,
} from './schema.ts';
import { type StatementWriter, startStatement } from './statement.ts';
import { readWriteBody, type WriteBody } from './write-body.ts';
import { assignments, bodyValueSql } from './write-columns.ts';
import { writeFault } from './write-fault.ts';

/** Milliseconds; a writer that waits longer for a row or a lock is told so. */
const writeTimeoutMs = 30_000;

/**
 * Writes records into the provider's own table; the capture trigger tells the log in the same transaction, so there is
 * no second way for a change. A viewer changes and deletes only what the one predicate lets it see.
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
      return inTransaction(context, resource, request, tx =>
        insert(tx, context, resource, read, body, request, newKey),
      );
    },
    async update([key = ''], body, request) {
      requireScope(request.viewer, 'write');
      const read = readWriteBody(resource, body, request.replace ? 'replace' : 'change');
      if (read.key !== undefined && read.key !== key) {
        const message = 'The key of a record cannot be changed.';
        const target = resource.type.key[0] ?? '';
        throw new PulsefeedError('EE-114', message, { details: [{ code: 'EE-114', target, message }] });
      }
      return context.policy.read(request.viewer, allowed =>
        inTransaction(context, resource, request, async tx => {
          const found = await lockRow(tx, resource, key, allowed);
          if (!found.usable) return { ruleVersion: found.version, result: undefined };
          checkMatch(found.etag, request);
          const result = await change(tx, context, resource, key, read, body, request, allowed);
          return { ruleVersion: found.version, result };
        }),
      );
    },
    async remove([key = ''], request) {
      requireScope(request.viewer, 'write');
      return context.policy.read(request.viewer, allowed =>
        inTransaction(context, resource, request, async tx => {
          const found = await lockRow(tx, resource, key, allowed);
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

async function inTransaction<T>(
  { db }: RecordContext,
  resource: RecordResource,
  { tx }: WriteRequest,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  try {
    return await (tx === undefined
      ? db.transaction(work, { statementTimeoutMs: writeTimeoutMs, idleTimeoutMs: writeTimeoutMs })
      : work(tx));
  } catch (error) {
    throw writeFault(error, resource);
  }
}

async function insert(
  tx: Queryable,
  context: RecordContext,
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
  const [row] = await tx.query<WrittenRow>({
    text: `
with body as (select ${json})
insert into ${table.quoted} as ${rowAlias} ${into}
returning ${returned(context, resource, request, w)}`,
    values: w.values,
  });
  return entityRow(row);
}

async function change(
  tx: Queryable,
  context: RecordContext,
  resource: RecordResource,
  key: string,
  { fields }: WriteBody,
  body: string,
  request: WriteRequest & { readonly replace: boolean },
  allowed: Allowed,
): Promise<EntityRow> {
  const { table } = resource;
  const w = startStatement();
  const json = `${w.bind(body)}::json`;
  const set = assignments(resource, fields, json, request.replace);
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  const shown = returned(context, resource, request, w, allowed);
  // A body that changes nothing is no change: the record is only read.
  const text =
    set.length === 0
      ? `with body as (select ${json}) select ${shown} from ${table.quoted} ${rowAlias} where ${match}`
      : `with body as (select ${json}) update ${table.quoted} as ${rowAlias} set ${set.join(', ')} where ${match} returning ${shown}`;
  const [row] = await tx.query<WrittenRow>({ text, values: w.values });
  return entityRow(row);
}

interface WrittenRow {
  readonly json: string;
  readonly key: string;
  readonly etag: string;
}

/** The row as it was written: its writer may see it before it has a number. */
function returned(
  context: RecordContext,
  resource: RecordResource,
  { shape }: WriteRequest,
  statement: StatementWriter,
  allowed: Allowed = unreachable,
): string {
  const { table } = resource;
  const json = rowJson(resource, { ...shape, expand: [] }, quotedAlias, { context, allowed, statement });
  return `${json} as json, ${keyText(table, quotedAlias)} as key, ${etagSql(table, quotedAlias)} as etag`;
}

/** Nothing related is shown with a row that is written, so nobody is asked who may see it. */
const unreachable: Allowed = {
  version: 0,
  held: () => undefined,
  records: () => ({ text: 'false', values: [] }),
  recordsAs: () => 'false',
};

function entityRow(row: WrittenRow | undefined): EntityRow {
  // A rule or trigger of the provider's may have turned the row away.
  if (row === undefined) throw new PulsefeedError('EE-119', 'The database did not take the record.');
  return { json: row.json, key: [row.key], position: [], etag: etagOf(row.etag) };
}

interface LockedRow {
  readonly version: number;
  readonly usable: boolean;
  readonly etag: string;
}

/** Locks the row if the viewer may see it, under the rules that the reader was allowed for. */
async function lockRow(
  tx: Queryable,
  { table }: RecordResource,
  key: string,
  allowed: Allowed,
): Promise<LockedRow> {
  const w = startStatement();
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  const visible = visibleSql(allowed, table.config.name, quotedAlias, w);
  const lock = table.versioned ? `for update of ${rowAlias}` : '';
  const [row] = await tx.query<{ version: number; etag: string }>({
    text: `
select ${ruleVersion} as version, ${etagSql(table, quotedAlias)} as etag
from ${table.quoted} ${rowAlias} where ${match} and ${visible} ${lock}`,
    values: w.values,
  });
  if (row !== undefined) {
    return { version: row.version, usable: row.version === allowed.version, etag: etagOf(row.etag) };
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
