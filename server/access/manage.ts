import type { Scope } from '../base/auth/viewer.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import {
  addConsumer,
  addToken,
  anonymousConsumer,
  type Consumer,
  type ConsumerAttributes,
  changeConsumer,
  readConsumer,
  rotateSecret,
} from '../visibility/index.ts';
import { newClientId, newCredential } from './credentials.ts';

/** What the operator says of a new consumer; the command line and the admin API say it alike. */
export interface ConsumerRequest {
  readonly name: string;
  readonly feeds: readonly string[];
  readonly attributes: ConsumerAttributes;
  readonly scopes: readonly Scope[];
}

/** Shown once: nothing of it can be read back. */
export interface IssuedCredentials {
  readonly name: string;
  readonly clientId: string;
  readonly secret: string;
  /** A bearer token that lasts until it is rotated or the consumer is disabled. */
  readonly token: string;
}

/** Adds a consumer and issues its client id, secret and token. @throws EE-119, EE-205 */
export async function issueConsumer(db: Db, request: ConsumerRequest): Promise<IssuedCredentials> {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,99}$/u.test(request.name)) {
    throw new PulsefeedError('EE-114', 'A consumer name has letters, digits, spaces and . _ @ - only.', {
      target: 'name',
    });
  }
  if (request.name === anonymousConsumer) {
    throw new PulsefeedError('EE-114', `The name ${anonymousConsumer} stands for readers without a token.`, {
      target: 'name',
    });
  }
  const secret = newCredential('secret');
  const clientId = newClientId();
  const id = await addConsumer(db, {
    name: request.name,
    clientId,
    secretHash: secret.hash,
    scopes: request.scopes,
    attributes: request.attributes,
    grants: request.feeds,
  });
  return { name: request.name, clientId, secret: secret.text, token: await issueToken(db, id) };
}

/** Replaces secret and tokens. @throws EE-205 */
export async function reissue(db: Db, name: string): Promise<IssuedCredentials> {
  const { id, clientId } = await readConsumer(db, name);
  const secret = newCredential('secret');
  await rotateSecret(db, name, secret.hash);
  return { name, clientId, secret: secret.text, token: await issueToken(db, id) };
}

/** Adds to, or takes from, what a consumer was granted. @throws EE-205 */
export async function regrant(
  db: Db,
  name: string,
  give: readonly string[],
  take: readonly string[],
): Promise<Consumer> {
  const { grants } = await readConsumer(db, name);
  const kept = grants.filter(feed => !take.includes(feed));
  await changeConsumer(db, name, { grants: [...new Set([...kept, ...give])] });
  return readConsumer(db, name);
}

async function issueToken(db: Db, consumerId: number): Promise<string> {
  const token = newCredential('token');
  await addToken(db, consumerId, token);
  return token.text;
}
