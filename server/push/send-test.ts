import { randomBytes } from 'node:crypto';
import { type Credential, identityOf } from './credential.ts';
import { manyBody } from './envelope.ts';
import { message } from './message.ts';
import { TokenStore } from './oauth-token.ts';
import type { PushContext } from './push-context.ts';
import { createSigner, type SignatureKind, type SigningSecret } from './signing.ts';
import type { Owner } from './subscriptions.ts';

interface Row {
  readonly callback_url: string;
  readonly source: string | null;
  readonly signature: SignatureKind;
  readonly secret: Buffer;
  readonly credential_id: string | null;
  readonly credential: Buffer | null;
}

/**
 * POSTs one empty batch with everything a delivery carries, and tells how it was answered: the status, or in a word what
 * failed. Never what the answer said. The cursor is not touched.
 */
export async function sendTest(
  { db, seal, sender, timeoutMs }: PushContext,
  owner: Owner,
  id: string,
): Promise<string | undefined> {
  const [row] = await db.query<Row>({
    text: `
select s.callback_url, s.source, s.signature, s.secret, c.id as credential_id, c.sealed as credential
from pulsefeed.push_subscription s left join pulsefeed.push_credential c on c.id = s.credential_id
where s.id = $1 and ($2::integer is null or s.consumer_id = $2)`,
    values: [id, owner],
  });
  if (row === undefined) return undefined;
  const { credential_id: credentialId } = row;
  const credential =
    row.credential === null || credentialId === null
      ? undefined
      : seal.open<Credential>(credentialId, row.credential);
  let authorization: string | undefined;
  if (credential?.type === 'bearer') authorization = `Bearer ${credential.token}`;
  if (credential?.type === 'client_credentials') {
    const answer = await new TokenStore(sender, timeoutMs, () => 0).token(id, credential, true);
    if ('failure' in answer) return 'token';
    authorization = `Bearer ${answer.token}`;
  }
  const { headers, body } = message({
    id: `${id}.test.${randomBytes(9).toString('base64url')}`,
    body: Buffer.from(manyBody([])),
    authorization,
    source: row.source,
    signer: createSigner([seal.open<SigningSecret>(id, row.secret)], row.signature),
    timestampS: Math.floor(Date.now() / 1_000),
  });
  const url = new URL(row.callback_url);
  const result = await sender.post({ url, headers, body, timeoutMs, identity: identityOf(credential) });
  return result.kind === 'answer' ? String(result.status) : result.reason;
}
