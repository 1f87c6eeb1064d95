import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { testCertificate } from '../../testing/certificates.ts';
import { atTestEnd } from '../../testing/cleanup.ts';
import { pushFixture, scriptedReceiver, status } from '../../testing/push-fixture.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

describe('credentials of an endpoint', function () {
  this.timeout(30_000);

  it('are written, and read by nobody', async () => {
    const feed = await pushFixture();
    const made = await feed.ask('POST', 'EntityEventCredential', { Type: 'bearer', Token: 'geheim-token' });
    assert.equal(made.status, 201);
    const id = String(made.json.CallbackCredentialId);
    assert.equal(made.json.Token, null);
    const read = await feed.ask('GET', 'EntityEventCredential');
    assert.ok(!JSON.stringify(read.json).includes('geheim'));
    const filtered = await feed.ask('GET', `EntityEventCredential?$filter=Token eq 'geheim-token'`);
    assert.deepEqual(filtered.json.value, []);
    const { runtime, consumer } = feed;
    const [stored] = await runtime.db.query<{ sealed: Buffer }>({
      text: 'select sealed from pulsefeed.push_credential',
    });
    assert.ok(stored !== undefined && !stored.sealed.includes('geheim'));
    const { token } = await consumer('other', ['IDX']);
    assert.equal((await feed.ask('GET', `EntityEventCredential('${id}')`, undefined, token)).status, 404);
    const body = { CallbackUrl: 'https://example.com/', CallbackCredentialId: id };
    assert.equal((await feed.ask('POST', 'EntityEventSubscription', body, token)).status, 400);
    assert.equal((await feed.ask('POST', 'EntityEventSubscription', body)).status, 201);
    assert.equal((await feed.ask('DELETE', `EntityEventCredential('${id}')`)).status, 409);
  });

  it('that are wrong are refused without being repeated', async () => {
    const feed = await pushFixture();
    for (const body of [
      { Type: 'basic', Token: 'geheim' },
      { Type: 'bearer' },
      { Type: 'bearer', Token: 'geheim\r\nX-Evil: 1' },
      { Type: 'bearer', Token: 'geheim', Password: 'x' },
      {
        Type: 'client_credentials',
        TokenUrl: 'https://10.0.0.1/geheim',
        ClientId: 'a',
        ClientSecret: 'geheim',
      },
      { Type: 'certificate', Certificate: 'geheim', PrivateKey: 'geheim' },
    ]) {
      const { status: code, json } = await feed.ask('POST', 'EntityEventCredential', body);
      assert.equal(code, 400, JSON.stringify(body));
      assert.ok(!JSON.stringify(json).includes('geheim'), JSON.stringify(json));
    }
  });

  it('by OAuth2 are fetched once, refreshed once when refused, and then pause', async () => {
    const feed = await pushFixture();
    const tokens = await scriptedReceiver();
    let issued = 0;
    tokens.always(response => {
      issued += 1;
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(
        JSON.stringify({ access_token: `token-${issued}`, expires_in: 3_600, token_type: 'Bearer' }),
      );
    });
    const { json } = await feed.ask('POST', 'EntityEventCredential', {
      Type: 'client_credentials',
      TokenUrl: tokens.url,
      ClientId: 'us',
      ClientSecret: 's p:ce',
      Scope: 'events',
    });
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({
      CallbackUrl: receiver.url,
      CallbackCredentialId: json.CallbackCredentialId,
      EntityEventSource: 'my label',
    });
    await feed.work();
    await feed.events(1);
    await feed.caughtUp(id);
    await feed.events(1);
    await feed.caughtUp(id);
    assert.equal(issued, 1);
    assert.match(tokens.received[0]?.body ?? '', /^grant_type=client_credentials&scope=events$/);
    assert.equal(
      tokens.received[0]?.headers.authorization,
      `Basic ${Buffer.from('us:s%20p%3Ace').toString('base64')}`,
    );
    receiver.next(status(401));
    await feed.events(1);
    await feed.caughtUp(id);
    const sent = receiver.received.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ['Bearer token-1', 'Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
    assert.equal(receiver.received[0]?.headers.entityeventsource, 'my label');
    receiver.always(status(401));
    await feed.events(1);
    await until('the pause', async () => (await feed.row(id)).state === 'paused');
    assert.equal(receiver.received.length, 6, 'the token and one fresh token');
    const { cursor_seq: cursor, batch_hi: frozen } = await feed.row(id);
    assert.deepEqual([cursor, frozen], [3n, 4n], 'the batch waits');
  });

  it('by certificate are shown to an endpoint that asks for one, whose own is checked', async () => {
    const authority = testCertificate('test authority');
    const own = testCertificate('endpoint', authority);
    const client = testCertificate('the client', authority);
    const { path } = await temporaryFolder('push-tls');
    const pushCaFile = join(path, 'ca.pem');
    await writeFile(pushCaFile, authority.cert);
    const feed = await pushFixture({ pushCaFile });
    const seen: string[] = [];
    const server = createServer(
      { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate();
        seen.push(String(subject.CN));
        request.resume().once('end', () => response.writeHead(200).end());
      },
    );
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const stranger = testCertificate('stranger');
    const untrusted = createServer(
      { ...stranger },
      (_request, response) => void response.writeHead(200).end(),
    );
    await new Promise<void>(resolve => untrusted.listen(0, '127.0.0.1', resolve));
    atTestEnd(() => {
      for (const one of [server, untrusted]) {
        one.close();
        one.closeAllConnections();
      }
    });
    const urlOf = (one: typeof server) => `https://127.0.0.1:${(one.address() as AddressInfo).port}/`;
    const { json, status: code } = await feed.ask('POST', 'EntityEventCredential', {
      Type: 'certificate',
      Certificate: client.cert,
      PrivateKey: client.key,
    });
    assert.equal(code, 201);
    const withIt = await feed.subscribe({
      CallbackUrl: urlOf(server),
      CallbackCredentialId: json.CallbackCredentialId,
    });
    const without = await feed.subscribe({ CallbackUrl: urlOf(server) });
    const elsewhere = await feed.subscribe({ CallbackUrl: urlOf(untrusted) });
    await feed.work();
    await feed.events(1);
    await feed.caughtUp(withIt);
    assert.deepEqual(seen, ['the client']);
    for (const id of [without, elsewhere]) {
      await until('its failure', async () => ((await feed.row(id)).failures as number) > 0);
      assert.equal((await feed.row(id)).cursor_seq, 0n);
    }
  });

  it('go with everything else through the proxy, where one is set', async () => {
    const targets: string[] = [];
    const proxy = createTcpServer(socket => {
      socket.on('error', () => undefined);
      socket.once('data', data => {
        const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+)/.exec(data.toString()) ?? [];
        targets.push(`${host}:${port}`);
        const on = connect(Number(port), '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          socket.pipe(on).pipe(socket);
        });
        on.on('error', () => socket.destroy());
        socket.once('close', () => on.destroy());
      });
    });
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    atTestEnd(() => void proxy.close());
    const feed = await pushFixture({
      pushProxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    });
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({ CallbackUrl: receiver.url.replace('127.0.0.1', 'inside.example') });
    await feed.work();
    await feed.events(1);
    await feed.caughtUp(id);
    assert.deepEqual(targets, [`inside.example:${new URL(receiver.url).port}`]);
  });

  it('and signatures are what the example of the documentation checks', async () => {
    const example = fileURLToPath(new URL('../../docs/examples/push-receiver.mjs', import.meta.url));
    const free = createTcpServer();
    await new Promise<void>(resolve => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise(resolve => free.close(resolve));
    const feed = await pushFixture();
    const { json } = await feed.ask('POST', 'EntityEventCredential', { Type: 'bearer', Token: 'a-token' });
    const made = await feed.ask('POST', 'EntityEventSubscription', {
      CallbackUrl: `http://127.0.0.1:${port}/`,
      CallbackCredentialId: json.CallbackCredentialId,
    });
    const child = spawn(process.execPath, [example], {
      env: { ...process.env, PORT: String(port), TOKEN: 'a-token', SECRET: String(made.json.SigningSecret) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    atTestEnd(() => void child.kill());
    let output = '';
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
    });
    await until('it to listen', () => output.includes('listening'));
    const key = String(made.json.EntityEventSubscriptionKey);
    assert.equal((await feed.ask('POST', `EntityEventSubscription('${key}')/SendTest`)).json.value, '200');
    await feed.work();
    await feed.events(3);
    await until('the events', () => output.includes('3 Property L3'));
    assert.deepEqual(output.trim().split('\n').slice(1), ['1 Property L1', '2 Property L2', '3 Property L3']);
    const forged = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: {
        Authorization: 'Bearer a-token',
        'webhook-id': 'x',
        'webhook-timestamp': '1',
        'webhook-signature': 'v1,x',
      },
      body: '{}',
    });
    assert.equal(forged.status, 400);
  });
});
