import { randomBytes } from 'node:crypto';
import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntitySet, EntityWriter, WriteRequest } from '../edm/entity-set.ts';
import { readCredential } from './credential.ts';
import { parseExactObject } from './exact-json.ts';
import { consumerOf, ownedRows, ownerOf, readOwned } from './owned-rows.ts';
import type { PushContext } from './push-context.ts';
import { subscriptionActions } from './subscription-actions.ts';
import { readSubscription } from './subscription-body.ts';
import { credentialType, subscriptionType } from './subscription-type.ts';
import { changeSubscription, createSubscription, deleteSubscription } from './subscriptions.ts';

/** EntityEventSubscription and EntityEventCredential as entity sets. */
export function pushSets(context: PushContext): EntitySet[] {
  return [
    {
      name: subscriptionType.name,
      type: subscriptionType,
      writable: true,
      ...ownedRows(context.db, subscriptionType),
      write: subscriptionWriter(context),
      actions: subscriptionActions(context),
    },
    {
      name: credentialType.name,
      type: credentialType,
      writable: true,
      ...ownedRows(context.db, credentialType),
      write: credentialWriter(context),
    },
  ];
}

/** Members that the service computes: they may stand in a body and are read over. */
const computed = new Set(
  subscriptionType.properties
    .filter(({ annotations }) => annotations?.['Core.Computed'] === true)
    .map(({ name }) => name),
);

function subscriptionWriter(context: PushContext): EntityWriter {
  const { guard } = context;
  return {
    async create(body, request) {
      const consumer = consumerOf(request.viewer);
      const read = readSubscription(body, 'create', guard, computed);
      return inTransaction(context, request, async tx => {
        const { id, shown } = await createSubscription(context, tx, consumer, read);
        return found(await readOwned(tx, subscriptionType, id, request.shape, request.viewer, { ...shown }));
      });
    },
    async update([key = ''], body, request) {
      const owner = ownerOf(request.viewer);
      const { fields } = readSubscription(body, request.replace ? 'replace' : 'change', guard, computed);
      return inTransaction(context, request, async tx => {
        await checkMatch(tx, key, request);
        if (!(await changeSubscription(tx, owner, key, fields))) return undefined;
        return readOwned(tx, subscriptionType, key, request.shape, request.viewer);
      });
    },
    remove: ([key = ''], request) =>
      inTransaction(context, request, async tx => {
        await checkMatch(tx, key, request);
        return deleteSubscription(tx, ownerOf(request.viewer), key);
      }),
  };
}

function credentialWriter(context: PushContext): EntityWriter {
  const { guard, seal } = context;
  return {
    async create(body, request) {
      const consumer = consumerOf(request.viewer);
      const credential = readCredential(parseExactObject(body), guard);
      const id = `cred_${randomBytes(15).toString('base64url')}`;
      return inTransaction(context, request, async tx => {
        await tx.query({
          text: `
insert into pulsefeed.push_credential (id, consumer_id, type, sealed) values ($1, $2, $3, $4)`,
          values: [id, consumer, credential.type, seal.seal(id, credential)],
        });
        return found(await readOwned(tx, credentialType, id, request.shape, request.viewer));
      });
    },
    async update() {
      throw new PulsefeedError(
        'EE-112',
        'A credential is not changed: POST a new one and PATCH the subscription.',
      );
    },
    remove: ([key = ''], request) =>
      inTransaction(context, request, async tx => {
        const owner = ownerOf(request.viewer);
        const [used] = await tx.query({
          text: `
select from pulsefeed.push_subscription s join pulsefeed.push_credential c on c.id = s.credential_id
where c.id = $1 and ($2::integer is null or c.consumer_id = $2) limit 1`,
          values: [key, owner],
        });
        if (used !== undefined) throw new PulsefeedError('EE-119', 'A subscription uses this credential.');
        const rows = await tx.query({
          text: `
delete from pulsefeed.push_credential where id = $1 and ($2::integer is null or consumer_id = $2) returning id`,
          values: [key, owner],
        });
        return rows.length > 0;
      }),
  };
}

/** In the transaction of the request's group, or in one of its own. */
export function inTransaction<T>(
  { db }: Pick<PushContext, 'db'>,
  { tx }: Pick<WriteRequest, 'tx'>,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return tx === undefined ? db.transaction(work) : work(tx);
}

/** The tag stands for what a person set: deliveries do not change it. @throws EE-116 */
async function checkMatch(tx: Queryable, key: string, { matches, viewer }: WriteRequest): Promise<void> {
  if (matches === undefined) return;
  const [row] = await tx.query<{ version: number }>({
    text: `
select version from pulsefeed.push_subscription
where id = $1 and ($2::integer is null or consumer_id = $2) for update`,
    values: [key, ownerOf(viewer)],
  });
  if (row === undefined || matches(`W/"${row.version}"`)) return;
  throw new PulsefeedError('EE-116', 'The subscription has been changed since.');
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('a row that was just written is gone');
  return row;
}
