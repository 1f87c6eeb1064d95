import pg from 'pg';
import { quoteIdentifier } from './quote.ts';

const reconnectMs = { first: 100, most: 5_000 };

/**
 * Keeps one LISTEN connection alive, apart from the pool. After each reconnection it calls `onNotify('')`, since
 * notifications sent in between are gone. States: connecting -> listening -> (broken -> connecting)* -> closed.
 */
export async function listenOnPostgres(
  settings: pg.ClientConfig,
  channel: string,
  onNotify: (payload: string) => void,
): Promise<() => Promise<void>> {
  let client: pg.Client | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  let delayMs = reconnectMs.first;

  async function open(): Promise<void> {
    const fresh = new pg.Client(settings);
    fresh.on('notification', message => onNotify(message.payload ?? ''));
    // A broken connection raises 'error' and then 'end'; reconnecting belongs to 'end', which comes in each case.
    fresh.on('error', () => undefined);
    fresh.once('end', reconnectLater);
    await fresh.connect();
    await fresh.query(`listen ${quoteIdentifier(channel)}`);
    client = fresh;
    delayMs = reconnectMs.first;
    if (closed) await fresh.end();
  }

  function reconnectLater(): void {
    client = undefined;
    if (closed || retry !== undefined) return;
    retry = setTimeout(() => {
      retry = undefined;
      open().then(() => onNotify(''), reconnectLater);
    }, delayMs);
    retry.unref();
    delayMs = Math.min(delayMs * 2, reconnectMs.most);
  }

  await open();
  return async () => {
    closed = true;
    clearTimeout(retry);
    await client?.end();
  };
}
