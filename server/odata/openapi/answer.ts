import { weakTag } from '../conditional.ts';
import { negotiateVersion } from '../negotiate.ts';
import type { ODataAnswer, ODataRequest } from '../request.ts';
import type { Service } from '../service.ts';
import { openApiDocument } from './document.ts';

/** `GET /openapi.json`: the service as OpenAPI 3.1, for tools that know no OData. Query options are not read. */
export function answerOpenApi(service: Service, request: ODataRequest): ODataAnswer {
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  const body = JSON.stringify(openApiDocument([...service.sets.values()], request.root));
  return {
    status: 200,
    headers: {
      'OData-Version': version,
      'Content-Type': 'application/json',
      ETag: weakTag(body),
      Vary: 'OData-MaxVersion',
    },
    body,
    route: 'openapi',
  };
}
