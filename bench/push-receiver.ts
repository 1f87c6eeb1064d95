import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The receiving side of bench/push.ts, in a process of its own: takes every POST with 200. It reports, when asked over
 * IPC, what came: the last sequence of each POST and when, in milliseconds since 1970.
 */
let posts: [last: string, at: number][] = [];
let events = 0;

const server = createServer((request, response) => {
  let last = '';
  request.on('data', (chunk: Buffer) => {
    // The last event of a body is in its last chunk, or nearly: the tail of two is enough.
    last = (last + chunk.toString('latin1')).slice(-400);
  });
  request.on('end', () => {
    response.writeHead(200).end();
    const numbers = last.match(/"EntityEventSequence":(\d+)/g);
    posts.push([numbers?.at(-1)?.slice(22) ?? '0', Date.now()]);
    events += 1;
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', message => {
  if (message === 'report') {
    const { user, system } = process.cpuUsage();
    process.send?.({ posts, count: events, cpuMs: (user + system) / 1_000 });
    posts = [];
    events = 0;
  }
});
process.once('disconnect', () => process.exit(0));
