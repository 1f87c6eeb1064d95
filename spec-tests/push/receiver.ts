import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventsOf, type FeedEvent } from '../feed/event.ts';
import { isObject, type Json, type JsonObject, parseExactJson } from '../http/exact-json.ts';

/** One request that reached the receiver. */
export type Delivery = {
  atMs: number;
  method: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
  body: Json | undefined;
  /** The rows of the payload, in either form of RESO Common Format. */
  rows: JsonObject[];
  events: FeedEvent[];
  /** What the receiver answered. */
  answered: number;
};

/** How a receiver answers. */
export type Answer = { status: number; headers?: Record<string, string> };

/** An open receiver. Each name is a path of its own, with its own deliveries. */
export type Receiver = {
  port: number;
  /** Registers a path; `answer` is asked for each delivery, which is not yet in the list. */
  open(name: string, answer: (earlier: readonly Delivery[]) => Answer): readonly Delivery[];
  close(): Promise<void>;
};

const maxBodyBytes = 16 * 1024 * 1024;

/** Starts a receiver of RCP-028 deliveries. `now` gives the time that stands in each delivery. */
export async function startReceiver(host: string, port: number, now: () => number): Promise<Receiver> {
  const paths = new Map<
    string,
    { deliveries: Delivery[]; answer: (earlier: readonly Delivery[]) => Answer }
  >();
  const server = createServer(async (request, response) => {
    const path = paths.get((request.url ?? '').split(/[/?]/)[1] ?? '');
    const text = await bodyOf(request);
    if (path === undefined) {
      response.writeHead(404).end();
      return;
    }
    const answer = path.answer(path.deliveries);
    path.deliveries.push(deliveryOf(request, text, answer.status, now()));
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers }).end('{}');
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    open(name, answer) {
      const deliveries: Delivery[] = [];
      paths.set(name, { deliveries, answer });
      return deliveries;
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes <= maxBodyBytes) chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function deliveryOf(request: IncomingMessage, text: string, answered: number, atMs: number): Delivery {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  let body: Json | undefined;
  try {
    body = parseExactJson(text);
  } catch {
    body = undefined;
  }
  const rows = rowsOf(body);
  return { atMs, method: request.method ?? '', headers, text, body, rows, events: eventsOf(rows), answered };
}

function rowsOf(body: Json | undefined): JsonObject[] {
  if (!isObject(body)) return [];
  const value = body.value;
  return Array.isArray(value) ? value.filter(isObject) : [body];
}
