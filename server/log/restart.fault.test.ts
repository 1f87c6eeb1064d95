import assert from 'node:assert/strict';
import { buildLogDatabase, drain, gateAt, openLogDatabase, readAll } from '../../testing/log-database.ts';
import { type PostgresServer, privateServer } from '../../testing/postgres.ts';
import { withConnection } from '../../testing/with-connection.ts';

/** How often Postgres is killed; `npm run torture` raises it. */
const kills = Number(process.env.PULSEFEED_TORTURE ?? 3);

describe('the log when Postgres is killed', () => {
  let server: PostgresServer;
  let url: string;

  before(async () => {
    server = await privateServer();
    const inDatabase = new URL(server.url);
    inDatabase.pathname = '/killed';
    url = inDatabase.href;
  });

  beforeEach(async () => {
    await withConnection(server.url, async client => {
      await client.query('drop database if exists killed with (force)');
      await client.query('create database killed');
    });
    await buildLogDatabase(url);
  });

  after(() => server.remove());

  it('uses the numbers of a step that was under way for the same changes again', async () => {
    const log = await openLogDatabase(url);
    const sequencer = log.sequencer();
    await log.write('insert into showing values (1), (2)');
    await drain(sequencer);
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    await log.write(`insert into office values ('O', null); insert into property values ('P', 'O')`);
    // 1. The step has its numbers and waits. 2. The server is killed and started.
    const failed = assert.rejects(sequencer.step());
    await gate.reached();
    await server.kill();
    await failed;
    await server.start();
    // 3. The head stands where it stood; the same sequencer goes on.
    const again = await openLogDatabase(url);
    assert.equal((await again.log.head()).head, 2n);
    await drain(sequencer);
    assert.deepEqual(
      (await readAll(again.log)).map(({ sequence, key }) => [sequence, key]),
      [
        [1n, '1'],
        [2n, '2'],
        [3n, 'O'],
        [4n, 'P'],
      ],
    );
  });

  it(`keeps every number that was told, in ${kills} kills right after the commit of a step`, async () => {
    let head = 0n;
    const told: [bigint, string][] = [];
    for (let n = 0; n < kills; n++) {
      const log = await openLogDatabase(url);
      await log.write(`insert into showing select n, ${n} from generate_series(${n * 10}, ${n * 10 + 4}) n`);
      const outcome = await log.sequencer().step();
      assert.ok(outcome.kind === 'numbered' && outcome.head !== undefined);
      assert.ok(outcome.head > head);
      head = outcome.head;
      const page = await readAll(log.log, BigInt(told.length));
      told.push(...page.map(({ sequence, key }): [bigint, string] => [sequence, key]));
      await server.kill();
      await server.start();
      const again = await openLogDatabase(url);
      assert.equal((await again.log.head()).head, head);
      assert.deepEqual(
        (await readAll(again.log)).map(({ sequence, key }) => [sequence, key]),
        told,
      );
    }
  });

  it('goes on with a large transaction after a kill between its steps', async () => {
    const records = 60;
    const log = await openLogDatabase(url);
    await log.write(`insert into showing select n, 0 from generate_series(1, ${records}) n`);
    const sequencer = log.sequencer({ batchSize: 25 });
    for (let step = 0; step < 6; step++) await sequencer.step();
    await server.kill();
    await server.start();
    const again = await openLogDatabase(url);
    await drain(again.sequencer({ batchSize: 25 }));
    assert.deepEqual(
      await again.pulses(),
      Array.from({ length: records }, (_, n) => `Showing/${n + 1}`),
    );
  });
});
