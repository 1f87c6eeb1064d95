import { PulsefeedError } from '../../base/errors.ts';
import { weakTag } from '../conditional.ts';
import { negotiateJson, negotiateVersion, wantsXml } from '../negotiate.ts';
import { readQuery, refuseUnserved } from '../query.ts';
import type { ODataAnswer, ODataRequest } from '../request.ts';
import type { Service } from '../service.ts';

/** `GET /$metadata`: XML unless JSON is asked for (Protocol 11.1.2, Web API Core 2.5). */
export function answerMetadata(service: Service, request: ODataRequest): ODataAnswer {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format', 'schemaversion']);
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  const xml = wantsXml(request.headers.accept, query.system.get('format')?.value);
  const document = xml ? service.metadata.xml : service.metadata.json;
  if (![undefined, '*'].includes(query.system.get('schemaversion')?.value)) {
    throw new PulsefeedError('EE-107', 'There is no such schema version.', { target: '$schemaversion' });
  }
  return {
    status: 200,
    headers: {
      'OData-Version': version,
      'Content-Type': xml ? 'application/xml' : 'application/json',
      ETag: document.etag,
      Vary: 'Accept, OData-MaxVersion',
    },
    body: document.text,
    route: 'metadata',
  };
}

/** `GET /`: the service document (JSON Format 5). */
export function answerServiceDocument(service: Service, request: ODataRequest): ODataAnswer {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format']);
  const format = negotiateJson(
    request.headers.accept,
    query.system.get('format')?.value,
    request.headers['odata-maxversion'],
  );
  const context =
    format.metadata === 'none' ? {} : { [`${format.prefix}context`]: `${request.root}/$metadata` };
  const value = [...service.sets.keys()].map(name => ({ name, kind: 'EntitySet', url: name }));
  const body = JSON.stringify({ ...context, value });
  return {
    status: 200,
    headers: {
      'OData-Version': format.version,
      'Content-Type': format.contentType,
      ETag: weakTag(body),
      Vary: 'Accept, OData-MaxVersion',
    },
    body,
    route: 'service-document',
  };
}
