import pg from 'pg';

/**
 * Does `work` on a connection of its own and closes it. Its application_name tells it from the connections under test.
 * @throws what connecting or `work` throws.
 */
export async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'pulsefeed-testing' });
  // The server may be killed under it; the query at hand reports that.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
