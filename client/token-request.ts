import type { Agent } from 'undici';
import { type ClientCredentials, type Token, tokenRequestBody } from './auth.ts';
import { BadAnswer, type HttpAnswer, type SendOptions, send } from './http-send.ts';
import { ReplicationError } from './replication-error.ts';
import { classifyStatus } from './retry-policy.ts';

/**
 * Asks for a token once. A passing failure is given back by its status, to be tried again.
 * @throws ReplicationError `unauthorised` when the credentials are refused; BadAnswer for an answer without a token.
 */
export async function askToken(
  agent: Agent,
  options: SendOptions & { readonly userAgent: string },
  auth: ClientCredentials,
): Promise<Token & { status: number; headers: HttpAnswer['headers'] }> {
  const answer = await send(agent, options, auth.tokenUrl, 0, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': options.userAgent,
    },
    body: tokenRequestBody(auth),
  });
  const { status, headers } = answer;
  const failing = classifyStatus(status);
  if (failing === 'retry' || failing === 'throttle') return { value: '', lifeMs: undefined, status, headers };
  if (status < 200 || status > 299) {
    const message = `The token endpoint answers ${status}: the client credentials were not taken.`;
    throw new ReplicationError('unauthorised', message, { status, url: auth.tokenUrl });
  }
  try {
    const body = JSON.parse(answer.text) as { access_token?: unknown; expires_in?: unknown };
    if (typeof body.access_token !== 'string')
      throw new BadAnswer('The token endpoint gives no access_token');
    const seconds = Number(body.expires_in ?? Number.NaN);
    return {
      value: body.access_token,
      lifeMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
      status,
      headers,
    };
  } catch (error) {
    throw error instanceof BadAnswer ? error : new BadAnswer('The token endpoint does not answer JSON');
  }
}
