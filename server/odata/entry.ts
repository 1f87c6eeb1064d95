import { answerBatch } from './batch/batch.ts';
import { dispatch } from './dispatch.ts';
import { onlyPost } from './methods.ts';
import { settleVersions } from './negotiate.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import type { Service } from './service.ts';
import { parsePath } from './target.ts';

/**
 * Answers what came over the connection: a batch, or one request. Members of a batch go straight to `dispatch`, which
 * knows no batch.
 * @param onFault is told of each fault of ours that became the answer of a member.
 */
export async function answerRequest(
  service: Service,
  request: ODataRequest,
  onFault: (error: unknown) => void,
): Promise<ODataAnswer> {
  if (!isBatch(request)) return dispatch(service, request);
  const asked = { ...request, headers: settleVersions(request.headers) };
  return onlyPost(asked, () => answerBatch(service, asked, dispatch, onFault));
}

function isBatch({ rawPath }: ODataRequest): boolean {
  if (rawPath === '*') return false;
  const [first, ...rest] = parsePath(rawPath);
  return first?.name === '$batch' && first.key === undefined && rest.length === 0;
}
