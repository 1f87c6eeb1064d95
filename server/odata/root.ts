import { weakTag } from './conditional.ts';
import { answerServiceDocument } from './metadata/answer.ts';
import { negotiateVersion, parseAccept } from './negotiate.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import type { Service } from './service.ts';
import { startPage, startPagePolicy } from './start-page.ts';

/** `GET /`: the service document, or a page for people where HTML is asked for before JSON. */
export function answerRoot(service: Service, request: ODataRequest): ODataAnswer {
  if (!prefersHtml(request)) return answerServiceDocument(service, request);
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  const body = startPage(request.root, [...service.sets.keys()]);
  return {
    status: 200,
    headers: {
      'OData-Version': version,
      'Content-Type': 'text/html;charset=utf-8',
      'Content-Security-Policy': startPagePolicy,
      ETag: weakTag(body),
      Vary: 'Accept, OData-MaxVersion',
    },
    body,
    route: 'start-page',
  };
}

/** Browsers name HTML first; a client of the service names JSON, or nothing, or everything. */
function prefersHtml({ headers, rawQuery }: ODataRequest): boolean {
  if (headers.accept === undefined || /(?:^|&)(?:\$|%24)?format=/i.test(rawQuery)) return false;
  const quality = (type: string) =>
    Math.max(
      0,
      ...parseAccept(headers.accept ?? '')
        .filter(range => range.type === type)
        .map(range => range.quality),
    );
  const html = Math.max(quality('text/html'), quality('application/xhtml+xml'));
  return html > 0 && html > quality('application/json');
}
