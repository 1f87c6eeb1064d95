import type { Agent } from '../http/agent.ts';
import { isObject, type JsonObject, writeExactJson } from '../http/exact-json.ts';
import { type Exchange, jsonOf } from '../http/exchange.ts';
import { Unexercised } from '../rule.ts';

/** A subscription that this run created. */
export type Subscription = { exchange: Exchange; address?: string };

/**
 * Stores a bearer token with the server. The proposal for EntityEventSubscription names `CallbackCredentialId` and
 * leaves open where it comes from; a write-only EntityEventCredential resource is tried.
 * @throws Unexercised when the server has no such resource.
 */
export async function storeCredential(http: Agent, token: string): Promise<{ id: string; address?: string }> {
  const body = writeExactJson({ Type: 'bearer', Token: token });
  const exchange = await http.send('EntityEventCredential', { method: 'POST', body });
  if (exchange.status < 200 || exchange.status > 299) {
    throw new Unexercised(
      `POST EntityEventCredential answered HTTP ${exchange.status}; name an existing credential in push.credentialId and push.token`,
      [exchange],
    );
  }
  const id = idOf(exchange, [
    'CallbackCredentialId',
    'EntityEventCredentialId',
    'CredentialId',
    'EntityId',
    'Id',
  ]);
  if (id === undefined)
    throw new Unexercised('the answer to POST EntityEventCredential names no id', [exchange]);
  const address = exchange.headers.location;
  return address === undefined ? { id } : { id, address };
}

/** Creates a subscription. Its address is undefined when the answer does not name it. @throws Unexercised when refused. */
export async function subscribe(http: Agent, fields: JsonObject): Promise<Subscription> {
  const exchange = await http.send('EntityEventSubscription', {
    method: 'POST',
    body: writeExactJson(fields),
  });
  if (exchange.status < 200 || exchange.status > 299) {
    throw new Unexercised(
      `POST EntityEventSubscription answered HTTP ${exchange.status}: this server offers no push that can be subscribed to`,
      [exchange],
    );
  }
  const link = exchange.headers.location ?? exchange.headers['odata-entityid'];
  if (link !== undefined) return { exchange, address: link };
  const id = idOf(exchange, ['EntityEventSubscriptionId', 'SubscriptionId', 'EntityId', 'Id']);
  return id === undefined
    ? { exchange }
    : { exchange, address: `EntityEventSubscription('${encodeURIComponent(id)}')` };
}

/** Asks the server to go on after it stopped. RCP-028, Polite Behavior. */
export function resume(http: Agent, address: string): Promise<Exchange> {
  return http.send(`${address}/Resume`, { method: 'POST', body: '{}' });
}

/** Removes what a run created, whatever the server answers. */
export async function removeQuietly(http: Agent, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    try {
      await http.send(address, { method: 'DELETE' });
    } catch {
      // The report has said by now that the server stopped answering.
    }
  }
}

function idOf(exchange: Exchange, names: readonly string[]): string | undefined {
  const body = jsonOf(exchange);
  for (const name of names) {
    const value = isObject(body) ? body[name] : undefined;
    if (typeof value === 'string' || typeof value === 'bigint') return String(value);
  }
  const link = exchange.headers['odata-entityid'] ?? exchange.headers.location ?? '';
  return /\('?([^')]+)'?\)\/?$/.exec(decodeURIComponent(link))?.[1];
}
