import { PulsefeedError } from '../../base/errors.ts';
import { negotiateVersion, parseAccept } from '../negotiate.ts';
import { parsePreferences } from '../preferences.ts';
import { readQuery, refuseUnserved } from '../query.ts';
import type { ODataAnswer, ODataRequest } from '../request.ts';
import type { Service } from '../service.ts';
import { parseJsonBatch, writeJsonBatch } from './json-batch.ts';
import { type Batch, type BatchMember, defaultBatchLimits } from './member.ts';
import { parseMultipartBatch, tooMany, writeMultipartBatch } from './multipart.ts';
import { type Dispatch, runBatch } from './run.ts';

/**
 * `POST /$batch` (Protocol 11.7). A batch that can be read is answered with 200, whatever became of its members.
 * @throws EE-111 for another format, EE-114 for a body that is no batch, EE-106 for one that is too large.
 */
export async function answerBatch(
  service: Service,
  request: ODataRequest,
  dispatch: Dispatch,
  onFault: (error: unknown) => void,
): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format']);
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  refuseConditions(request);
  const batch = parseBatch(request);
  checkMembers(batch.members);
  const format = answerFormat(request, query.system.get('format')?.value, batch.format);
  const { continueOnError } = parsePreferences(request.headers.prefer);
  const answers = await runBatch(batch.members, {
    service,
    outer: request,
    dispatch,
    limits: defaultBatchLimits,
    onFailure: onFailure(continueOnError, batch.format),
    onFault,
  });
  const failed = answers.some(({ status }) => status >= 400);
  const applied = continueOnError ?? (failed && batch.format === 'json' ? true : undefined);
  const { contentType, body } = format === 'json' ? writeJsonBatch(answers) : writeMultipartBatch(answers);
  return {
    status: 200,
    headers: {
      'OData-Version': version,
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      ...(applied === undefined ? {} : { 'Preference-Applied': `continue-on-error=${applied}` }),
    },
    body,
    route: 'batch',
    rows: answers.length,
  };
}

/** Multipart stops at the first failure unless told otherwise, and leaves the rest out; JSON goes on (Protocol 8.2.8.3). */
function onFailure(
  continueOnError: boolean | undefined,
  format: Batch['format'],
): 'continue' | 'leave-out' | 'refuse' {
  const goesOn = continueOnError ?? format === 'json';
  if (goesOn) return 'continue';
  return format === 'json' ? 'refuse' : 'leave-out';
}

function parseBatch(request: ODataRequest): Batch {
  const contentType = request.headers['content-type'] ?? '';
  const type = contentType.split(';')[0]?.trim().toLowerCase();
  const body = request.body ?? '';
  if (type === 'application/json') return parseJsonBatch(body);
  if (type === 'multipart/mixed') return parseMultipartBatch(body, contentType, defaultBatchLimits.members);
  throw new PulsefeedError('EE-111', 'A batch is multipart/mixed or application/json.', {
    target: 'Content-Type',
  });
}

/** What would make the answer to the whole depend on the state of a part (Protocol 11.7.1). */
function refuseConditions({ headers }: ODataRequest): void {
  const given = ['if-match', 'if-none-match'].find(name => headers[name] !== undefined);
  if (given === undefined) return;
  throw new PulsefeedError('EE-100', 'Conditions belong to the requests of a batch, not to the batch.', {
    target: given === 'if-match' ? 'If-Match' : 'If-None-Match',
  });
}

/** Ids are unique, dependencies lead backwards, groups stand together. @throws EE-114, EE-106 */
function checkMembers(members: readonly BatchMember[]): void {
  if (members.length > defaultBatchLimits.members) throw tooMany(defaultBatchLimits.members);
  const ids = new Set<string>();
  const groups = new Set<string>();
  members.forEach((member, index) => {
    const { id, group, dependsOn } = member;
    const target = `requests/${index}`;
    if (group !== undefined && group !== members[index - 1]?.group) {
      if (groups.has(group))
        throw invalid(`The group ${JSON.stringify(group)} does not stand together.`, target);
      groups.add(group);
    }
    for (const needed of dependsOn) {
      const known = ids.has(needed) || (groups.has(needed) && needed !== group);
      if (!known)
        throw invalid(`dependsOn names ${JSON.stringify(needed)}, which does not come before.`, target);
    }
    if (id === undefined) return;
    if (ids.has(id)) throw invalid(`The id ${JSON.stringify(id)} is given twice.`, target);
    ids.add(id);
  });
  const both = [...groups].find(group => ids.has(group));
  if (both !== undefined) throw invalid(`${JSON.stringify(both)} is a request and a group.`, 'requests');
}

function invalid(message: string, target: string): PulsefeedError {
  return new PulsefeedError('EE-114', message, { target });
}

/**
 * The format of the answer: as asked for, else that of the request. OData 4.0 has no batches in JSON, so a client that
 * sends multipart and names no later version wants multipart back, though it accepts JSON out of habit.
 * @throws EE-109
 */
function answerFormat(
  { headers }: ODataRequest,
  option: string | undefined,
  given: Batch['format'],
): Batch['format'] {
  if (option !== undefined) return option.toLowerCase().includes('multipart') ? 'multipart' : 'json';
  const ranges = parseAccept(headers.accept ?? '').filter(({ quality }) => quality > 0);
  if (ranges.length === 0) return given;
  const { version, explicit } = negotiateVersion(headers['odata-maxversion']);
  const knowsJson = explicit && version === '4.01';
  if (given === 'multipart' && !knowsJson && ranges.some(({ type }) => type === 'application/json'))
    return given;
  const quality = (types: readonly string[]) =>
    Math.max(0, ...ranges.filter(({ type }) => types.includes(type)).map(range => range.quality));
  const wild = quality(['*/*']);
  const json = Math.max(quality(['application/json', 'application/*']), wild);
  const multipart = Math.max(quality(['multipart/mixed', 'multipart/*']), wild);
  if (json === 0 && multipart === 0) {
    throw new PulsefeedError('EE-109', 'A batch is answered as multipart/mixed or application/json.', {
      target: 'Accept',
    });
  }
  return json === multipart ? given : json > multipart ? 'json' : 'multipart';
}
