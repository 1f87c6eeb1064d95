import { PulsefeedError } from '../base/errors.ts';
import { negotiateVersion } from './negotiate.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';

const readMethods = 'GET, HEAD, OPTIONS';

/** Answers GET and HEAD by `answer`, OPTIONS by the methods that there are, `allow`. @throws EE-108 for any other. */
export async function onlyRead(
  request: ODataRequest,
  answer: () => ODataAnswer | Promise<ODataAnswer>,
  allow: string = readMethods,
): Promise<ODataAnswer> {
  if (request.method === 'GET' || request.method === 'HEAD') return answer();
  return answerOptions(request, allow);
}

/** Answers POST by `answer`, OPTIONS by the methods that there are. @throws EE-108 for any other. */
export async function onlyPost(
  request: ODataRequest,
  answer: () => ODataAnswer | Promise<ODataAnswer>,
): Promise<ODataAnswer> {
  if (request.method === 'POST') return answer();
  return answerOptions(request, 'POST, OPTIONS');
}

/** `OPTIONS *`: what the server as a whole can do. */
export function answerServerOptions(request: ODataRequest): ODataAnswer {
  return answerOptions(request, 'GET, HEAD, OPTIONS, POST');
}

function answerOptions(request: ODataRequest, allow: string): ODataAnswer {
  if (request.method !== 'OPTIONS') {
    throw new PulsefeedError('EE-108', `This resource takes ${allow}.`, { headers: { Allow: allow } });
  }
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  return {
    status: 204,
    headers: { Allow: allow, 'OData-Version': version },
    body: undefined,
    route: 'options',
  };
}
