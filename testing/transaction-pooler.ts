import { createServer, type Socket } from 'node:net';
import pg from 'pg';
import { atTestEnd } from './cleanup.ts';

/**
 * For tests: the smallest pooler in transaction mode. All clients share one session of the server and hold it for a
 * transaction each; notifications belong to nobody and are dropped, as PgBouncer does. No passwords are asked.
 * Returns its URL; it is closed when the test ends.
 */
export async function startTransactionPooler(url: string): Promise<string> {
  const upstream = new pg.Client({ connectionString: url, application_name: 'pooler' });
  await upstream.connect();
  const server = takeOver(upstream);
  const pool = new Pool(server);
  const listener = createServer(socket => pool.add(socket));
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
  atTestEnd(async () => {
    pool.close();
    await new Promise(resolve => listener.close(resolve));
    await new Promise(resolve => server.once('close', resolve).end(terminate));
  });
  const address = listener.address();
  const own = new URL(url);
  own.port = String(typeof address === 'object' ? address?.port : '');
  return own.href;
}

const terminate = Buffer.from([0x58, 0, 0, 0, 4]);

/** The socket of a client that has logged in, with the driver no longer listening. */
function takeOver(client: pg.Client): Socket {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners();
  stream.on('error', () => undefined);
  return stream;
}

/** One waiting client: what it has sent and what it still expects. */
interface Client {
  readonly socket: Socket;
  readonly waiting: Buffer[];
  started: boolean;
  pending: number;
}

/** States: idle (nobody holds the server) -> held by one client until its transaction has ended -> idle. */
class Pool {
  readonly #server: Socket;
  readonly #clients = new Set<Client>();
  #owner: Client | undefined;

  constructor(server: Socket) {
    this.#server = server;
    const read = splitter(message => this.#fromServer(message));
    server.on('data', read);
  }

  add(socket: Socket): void {
    const client: Client = { socket, waiting: [], started: false, pending: 0 };
    this.#clients.add(client);
    const read = splitter(
      message => this.#fromClient(client, message),
      () => !client.started,
    );
    socket.on('data', read);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#clients.delete(client));
  }

  close(): void {
    for (const { socket } of this.#clients) socket.destroy();
  }

  #fromClient(client: Client, message: Buffer): void {
    if (!client.started) {
      // A request for TLS is answered with no; anything else is the start.
      if (message.readInt32BE(4) === 80877103) client.socket.write('N');
      else {
        client.started = true;
        client.socket.write(welcome());
      }
      return;
    }
    const type = String.fromCharCode(message[0] ?? 0);
    if (type === 'X') return;
    if (type === 'Q' || type === 'S') client.pending += 1;
    if (this.#owner === undefined) this.#owner = client;
    if (this.#owner === client) this.#server.write(message);
    else client.waiting.push(message);
  }

  #fromServer(message: Buffer): void {
    const type = String.fromCharCode(message[0] ?? 0);
    const owner = this.#owner;
    if (type === 'A' || owner === undefined) return;
    owner.socket.write(message);
    if (type !== 'Z') return;
    owner.pending -= 1;
    if (owner.pending > 0 || String.fromCharCode(message[5] ?? 0) !== 'I') return;
    this.#owner = [...this.#clients].find(({ waiting }) => waiting.length > 0);
    for (const next of this.#owner?.waiting.splice(0) ?? []) this.#server.write(next);
  }
}

function welcome(): Buffer {
  const authenticated = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
  const text = Buffer.from('server_version\x0018.0\0');
  const parameter = Buffer.concat([Buffer.from([0x53, 0, 0, 0, text.length + 4]), text]);
  const key = Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1]);
  return Buffer.concat([authenticated, parameter, key, Buffer.from([0x5a, 0, 0, 0, 5, 0x49])]);
}

/** Cuts a stream into protocol messages; those before the start have no type byte. */
function splitter(take: (message: Buffer) => void, untyped = () => false): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  return data => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const at = untyped() ? 0 : 1;
      if (rest.length < at + 4) return;
      const end = at + rest.readInt32BE(at);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      take(message);
    }
  };
}
