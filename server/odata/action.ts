import type { EntityAction, EntitySet } from '../edm/entity-set.ts';
import { keyTexts, noSuchRecord } from './entity.ts';
import { answerRow } from './modify.ts';
import { negotiateJson } from './negotiate.ts';
import { planShape } from './plan.ts';
import { parsePreferences } from './preferences.ts';
import { readQuery, refuseUnserved } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import type { Service } from './service.ts';
import type { PathSegment } from './target.ts';

/** The action that a path ends in, named plainly or with the namespace (URL Conventions 4.2). */
export function actionOf(set: EntitySet, { name, key }: PathSegment, rest: number): EntityAction | undefined {
  if (rest > 0 || key !== undefined) return undefined;
  const prefix = `${set.type.namespace}.`;
  return set.actions?.get(name.startsWith(prefix) ? name.slice(prefix.length) : name);
}

/** `POST Set(key)/Action` (Protocol 11.5.5.1): 200 with what the action returns. */
export async function answerAction(
  service: Service,
  set: EntitySet,
  predicate: string,
  action: EntityAction,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format', 'select']);
  const { headers } = request;
  const format = negotiateJson(
    headers.accept,
    query.system.get('format')?.value,
    headers['odata-maxversion'],
  );
  const shape = planShape(set.type, query, format, parsePreferences(headers.prefer), request.root, service);
  const key = keyTexts(service, set, predicate, query);
  const { viewer, tx, body = '' } = request;
  const result = await action.run(key, body, { viewer, shape, ...(tx === undefined ? {} : { tx }) });
  if (result === undefined) throw noSuchRecord(set);
  if ('json' in result) {
    const shown = { ...request, headers: { ...headers, prefer: 'return=representation' } };
    const answer = answerRow(set, shown, format, { shape }, result, 'update');
    return { ...answer, route: 'action' };
  }
  const context =
    format.metadata === 'none'
      ? ''
      : `"${format.prefix}context":${JSON.stringify(`${request.root}/$metadata#${action.returns}`)},`;
  return {
    status: 200,
    headers: { 'OData-Version': format.version, 'Content-Type': format.contentType },
    body: `{${context}"value":${JSON.stringify(result.value)}}`,
    route: 'action',
    rows: 1,
  };
}
