// An endpoint for EntityEvents pushed by RCP-028: it takes what comes, answers at once, and works afterwards.
// PORT=8081 TOKEN=<the token of CallbackCredentialId> SECRET=<SigningSecret> node push-receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { PORT = '8081', TOKEN = '', SECRET = '' } = process.env;
const key = Buffer.from(SECRET.replace(/^whsec_/, ''), 'base64');
const taken = new Set(); // webhook-ids; keep these in your database, with what they led to
const queue = [];

const same = (a, b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Standard Webhooks: one of the signatures (two while the secret is rotated) is of `id.timestamp.body`. */
function signed({ 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given = '' }, body) {
  if (Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const mac = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest('base64');
  return given.split(' ').some(one => same(one, `v1,${mac}`));
}

createServer(async (request, response) => {
  const answer = status => response.writeHead(status).end();
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!same(request.headers.authorization ?? '', `Bearer ${TOKEN}`)) return answer(401);
  if (!signed(request.headers, body)) return answer(400);
  if (queue.length > 10_000) return response.writeHead(429, { 'Retry-After': '30' }).end();
  const id = request.headers['webhook-id'];
  const { value, ...single } = JSON.parse(body); // one event, or a list of them
  if (!taken.has(id)) queue.push(...(value ?? [single]));
  taken.add(id);
  answer(200);
}).listen(Number(PORT), '127.0.0.1', () => console.log('listening'));

// "Fetch this record again": GET {service}/{ResourceName}('{ResourceRecordKey}'), and delete your copy on 404.
setInterval(() => {
  for (const { EntityEventSequence, ResourceName, ResourceRecordKey } of queue.splice(0, 100))
    console.log(EntityEventSequence, ResourceName, ResourceRecordKey);
}, 50);
