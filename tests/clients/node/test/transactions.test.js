// MULTI, WATCH and what fails in them, as ioredis and node-redis use them.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createClientPool, MultiErrorReply, WatchError } from 'redis';
import { withIoredis, withNodeRedis } from './clients.js';
import { Server } from './server.js';

const CLIENTS = 6;
const ROUNDS = 15;
const server = new Server();

before(() => server.start());
after(() => server.close());
beforeEach(() => withIoredis(server, {}, (redis) => redis.flushall()));

for (const protocol of [2, 3]) {
  describe(`ioredis, RESP${protocol}`, () => {
    const using = (body) => withIoredis(server, { protocol }, body);

    test('multi().exec()', () =>
      using(async (redis) => {
        const replies = await redis.multi().set('k', 1).incr('k').get('k').mget('k', 'absent').exec();
        assert.deepEqual(replies, [[null, 'OK'], [null, 2], [null, '2'], [null, ['2', null]]]);
      }));

    test('multi without a pipeline', () =>
      using(async (redis) => {
        assert.equal(await redis.multi({ pipeline: false }), 'OK');
        assert.equal(await redis.set('k', 'v'), 'QUEUED');
        assert.equal(await redis.get('k'), 'QUEUED');
        assert.deepEqual(await redis.exec(), [[null, 'OK'], [null, 'v']]);
        await redis.multi({ pipeline: false });
        await redis.set('k', 'w');
        assert.equal(await redis.discard(), 'OK');
        assert.equal(await redis.get('k'), 'v');
      }));

    test('2000 requests in a transaction, and transactions within a pipeline', () =>
      using(async (redis) => {
        const multi = redis.multi();
        for (let i = 0; i < 2000; i += 1) multi.incr('n');
        assert.deepEqual((await multi.exec()).at(-1), [null, 2000]);
        const all = Array.from({ length: 100 }, (_, i) => redis.multi().set(`k${i}`, i).get(`k${i}`).exec());
        (await Promise.all(all)).forEach((replies, i) => assert.deepEqual(replies, [[null, 'OK'], [null, String(i)]]));
      }));

    test('an error inside leaves the rest', () =>
      using(async (redis) => {
        const [set, incr, get] = await redis.multi().set('k', 'text').incr('k').get('k').exec();
        assert.deepEqual([set, get], [[null, 'OK'], [null, 'text']]);
        assert.match(incr[0].message, /value is not an integer or out of range/);
      }));

    test('an error while queueing aborts all', () =>
      using(async (redis) => {
        const aborted = await redis.multi().set('k', 'v').call('NO-SUCH').exec().catch((error) => error);
        assert.match(aborted.message, /^EXECABORT Transaction discarded because of previous errors/);
        assert.match(aborted.previousErrors[0].message, /unknown command 'NO-SUCH'/);
        assert.equal(await redis.get('k'), null);
      }));

    test('a watched key that changed', () =>
      using((redis) =>
        using(async (other) => {
          await redis.watch('k');
          await other.set('k', 'theirs');
          assert.equal(await redis.multi().set('k', 'lost').exec(), null);
          await redis.watch('k');
          await redis.unwatch();
          await other.set('k', 'theirs again');
          assert.deepEqual(await redis.multi().set('k', 'mine').exec(), [[null, 'OK']]);
        })));

    test('increments of many clients by WATCH', async () => {
      const increment = async (redis) => {
        await redis.watch('n');
        const value = Number(await redis.get('n'));
        return redis.multi().set('n', value + 1).exec();
      };
      const work = (redis) => rounds(async () => {
        while (!(await increment(redis)));
      });
      await Promise.all(Array.from({ length: CLIENTS }, () => using(work)));
      assert.equal(await using((redis) => redis.get('n')), String(CLIENTS * ROUNDS));
    });
  });

  describe(`node-redis, RESP${protocol}`, () => {
    const using = (body) => withNodeRedis(server, { RESP: protocol }, body);

    test('multi().exec()', () =>
      using(async (client) => {
        const replies = await client.multi().set('k', '1').incr('k').get('k').mGet(['k', 'absent']).exec();
        assert.deepEqual(replies, ['OK', 2, '2', ['2', null]]);
        assert.deepEqual(await client.multi().exec(), []);
      }));

    test('2000 requests in a transaction, and transactions at once', () =>
      using(async (client) => {
        const multi = client.multi();
        for (let i = 0; i < 2000; i += 1) multi.incr('n');
        assert.equal((await multi.exec()).at(-1), 2000);
        const all = Array.from({ length: 100 }, (_, i) => client.multi().set(`k${i}`, i).get(`k${i}`).exec());
        (await Promise.all(all)).forEach((replies, i) => assert.deepEqual(replies, ['OK', String(i)]));
      }));

    test('an error inside leaves the rest', () =>
      using(async (client) => {
        const failed = await client.multi().set('k', 'text').incr('k').get('k').exec().catch((error) => error);
        assert.ok(failed instanceof MultiErrorReply, failed);
        assert.deepEqual(failed.errorIndexes, [1]);
        assert.deepEqual([failed.replies[0], failed.replies[2]], ['OK', 'text']);
        assert.match(failed.replies[1].message, /value is not an integer or out of range/);
      }));

    test('an error while queueing aborts all', () =>
      using(async (client) => {
        const aborted = client.multi().set('k', 'v').addCommand(['NO-SUCH']).exec();
        await assert.rejects(aborted, /unknown command 'NO-SUCH'|EXECABORT/);
        assert.equal(await client.get('k'), null);
      }));

    test('a watched key that changed', () =>
      using((client) =>
        using(async (other) => {
          await client.watch(['k', 'also']);
          await other.set('also', 'theirs');
          await assert.rejects(client.multi().set('k', 'lost').exec(), WatchError);
          assert.equal(await client.get('k'), null);
          await client.watch('k');
          await client.unwatch();
          await other.set('k', 'theirs');
          assert.deepEqual(await client.multi().set('k', 'mine').exec(), ['OK']);
        })));

    test('increments by WATCH from a pool', async () => {
      const socket = { host: server.host, port: server.port };
      const pool = createClientPool({ RESP: protocol, socket }, { minimum: CLIENTS, maximum: CLIENTS });
      pool.on('error', () => {});
      await pool.connect();
      const increment = (client) => rounds(async () => {
        for (;;) {
          try {
            await client.watch('n');
            const value = Number(await client.get('n'));
            return await client.multi().set('n', String(value + 1)).exec();
          } catch (error) {
            if (!(error instanceof WatchError)) throw error;
          }
        }
      });
      await Promise.all(Array.from({ length: CLIENTS }, () => pool.execute(increment)));
      assert.equal(await pool.get('n'), String(CLIENTS * ROUNDS));
      pool.destroy();
    });
  });
}

async function rounds(one) {
  for (let i = 0; i < ROUNDS; i += 1) await one();
}
