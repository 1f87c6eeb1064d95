import type { Scope } from '../base/auth/viewer.ts';
import type { Queryable } from '../base/db/index.ts';

/** The consumer behind a token or client id. */
export interface KnownConsumer {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

/** The consumer to whom a live token belongs; undefined for unknown, expired and revoked ones, and disabled consumers. */
export async function consumerByToken(db: Queryable, hash: string): Promise<KnownConsumer | undefined> {
  const [row] = await db.query<KnownConsumer>({
    name: 'consumer_by_token',
    text: `
select c.id, c.name, c.scopes from pulsefeed.consumer_token t
join pulsefeed.consumer c on c.id = t.consumer_id
where t.hash = $1 and not c.disabled and (t.expires_at is null or t.expires_at > now())`,
    values: [hash],
  });
  return row;
}

/** The consumer with that name, unless it is disabled or was granted nothing. */
export async function consumerByName(db: Queryable, name: string): Promise<KnownConsumer | undefined> {
  const [row] = await db.query<KnownConsumer>({
    name: 'consumer_by_name',
    text: `
select id, name, scopes from pulsefeed.consumer c
where name = $1 and not disabled
  and exists (select from pulsefeed.consumer_grant g where g.consumer_id = c.id)`,
    values: [name],
  });
  return row;
}

/** The consumer with that client id and the hash of its secret. */
export async function consumerByClient(
  db: Queryable,
  clientId: string,
): Promise<(KnownConsumer & { readonly secretHash: string }) | undefined> {
  const [row] = await db.query<KnownConsumer & { secretHash: string }>({
    name: 'consumer_by_client',
    text: `
select id, name, scopes, secret_hash as "secretHash" from pulsefeed.consumer
where client_id = $1 and not disabled`,
    values: [clientId],
  });
  return row;
}

/** Keeps the hash of a token; `lifetimeS` absent: until it is revoked. */
export async function addToken(
  db: Queryable,
  consumerId: number,
  token: { readonly hash: string; readonly prefix: string; readonly lifetimeS?: number },
): Promise<void> {
  await db.query({
    text: `
with expired as (
  delete from pulsefeed.consumer_token where consumer_id = $1 and expires_at < now()
)
insert into pulsefeed.consumer_token (hash, consumer_id, prefix, expires_at)
values ($2, $1, $3, now() + $4::integer * interval '1 second')`,
    values: [consumerId, token.hash, token.prefix, token.lifetimeS ?? null],
  });
}

/** Replaces the secret and ends every token of the consumer. */
export async function rotateSecret(db: Queryable, name: string, secretHash: string): Promise<void> {
  await db.query({
    text: `
with changed as (
  update pulsefeed.consumer set secret_hash = $2 where name = $1 returning id
)
delete from pulsefeed.consumer_token where consumer_id in (select id from changed)`,
    values: [name, secretHash],
  });
}

/** A disabled consumer is refused everywhere; it keeps its grants and its place. */
export async function setDisabled(db: Queryable, name: string, disabled: boolean): Promise<void> {
  await db.query({
    text: 'update pulsefeed.consumer set disabled = $2 where name = $1',
    values: [name, disabled],
  });
}
