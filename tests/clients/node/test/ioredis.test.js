// ioredis: defaults, both protocols, pipelines, autopipelining, scan streams, passwords, and a server that goes away.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Redis from 'ioredis';
import { Server, when } from './server.js';

const PASSWORD = 'se cret\u00e9';
const server = new Server();
const locked = new Server('--requirepass', PASSWORD);

before(() => Promise.all([server.start(), locked.start()]));
after(() => Promise.all([server.close(), locked.close()]));

beforeEach(() => using({ db: 0 }, (redis) => redis.flushall()));

// Runs `body` with a client of `options`, and always closes it.
async function using(options, body) {
  const redis = new Redis({ host: server.host, port: server.port, ...options });
  redis.on('error', () => {});
  try {
    return await body(redis);
  } finally {
    redis.disconnect();
  }
}

test('everything left at its default', () =>
  using({}, async (redis) => {
    await when(redis, 'ready');
    assert.equal(await redis.ping(), 'PONG');
    assert.equal(await redis.set('k', 'v'), 'OK');
    assert.equal(await redis.get('k'), 'v');
    assert.equal(await redis.get('absent'), null);
    assert.equal(await redis.del('k', 'absent'), 1);
  }));

test('from a URL', async () => {
  const redis = new Redis(`redis://${server.host}:${server.port}/4`);
  assert.equal(await redis.set('k', 'v'), 'OK');
  assert.match(await redis.client('INFO'), / db=4 /);
  await redis.quit();
});

for (const protocol of [2, 3]) {
  describe(`RESP${protocol}`, () => {
    test('the connection says who it is', () =>
      using({ protocol, db: 7, connectionName: 'the-name' }, async (redis) => {
        assert.match(await redis.client('INFO'), /name=the-name .*db=7 /);
        assert.equal(await redis.client('GETNAME'), 'the-name');
        if (versionOf(await redis.info('server')) >= 702) {
          assert.match(await redis.client('INFO'), new RegExp(`resp=${protocol} lib-name=ioredis`));
        }
      }));

    test('strings, keys and expiry', () =>
      using({ protocol }, async (redis) => {
        assert.equal(await redis.set('k', '1', 'EX', 100, 'NX'), 'OK');
        assert.equal(await redis.set('k', '2', 'NX'), null);
        assert.ok((await redis.ttl('k')) > 0);
        assert.equal(await redis.incr('k'), 2);
        assert.equal(await redis.incrbyfloat('k', 0.5), '2.5');
        assert.equal(await redis.getex('k', 'PERSIST'), '2.5');
        assert.equal(await redis.ttl('k'), -1);
        assert.equal(await redis.mset({ a: '1', b: '2' }), 'OK');
        assert.deepEqual(await redis.mget('a', 'absent', 'b'), ['1', null, '2']);
        assert.deepEqual(await redis.bitfield('f', 'SET', 'u8', 0, 255, 'GET', 'u4', 4), [0, 15]);
        assert.equal(await redis.type('a'), 'string');
        assert.deepEqual((await redis.config('GET', 'maxclients'))[0], 'maxclients');
        assert.equal(await redis.pexpire('a', 20), 1);
        await sleep(40);
        assert.equal(await redis.get('a'), null);
      }));

    test('binary data', () =>
      using({ protocol }, async (redis) => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
        await redis.set(bytes, bytes);
        assert.deepEqual(await redis.getBuffer(bytes), bytes);
        assert.deepEqual(await redis.keysBuffer('*'), [bytes]);
      }));

    test('a pipeline of 1000', () =>
      using({ protocol }, async (redis) => {
        const pipeline = redis.pipeline();
        for (let i = 0; i < 1000; i += 1) pipeline.set(`k${i}`, i).get(`k${i}`);
        const replies = await pipeline.exec();
        assert.equal(replies.length, 2000);
        replies.forEach(([error, reply], i) => {
          assert.equal(error, null);
          assert.equal(reply, i % 2 ? String((i - 1) / 2) : 'OK');
        });
      }));

    test('an error in a pipeline leaves the rest', () =>
      using({ protocol }, async (redis) => {
        const [set, incr, get] = await redis.pipeline().set('k', 'text').incr('k').get('k').exec();
        assert.deepEqual(set, [null, 'OK']);
        assert.match(incr[0].message, /value is not an integer or out of range/);
        assert.deepEqual(get, [null, 'text']);
      }));

    test('autopipelining', () =>
      using({ protocol, enableAutoPipelining: true }, async (redis) => {
        const numbers = Array.from({ length: 500 }, (_, i) => i);
        await Promise.all(numbers.map((i) => redis.set(`k${i}`, i)));
        const values = await Promise.all(numbers.map((i) => redis.get(`k${i}`)));
        assert.deepEqual(values, numbers.map(String));
      }));

    test('scanStream', () =>
      using({ protocol }, async (redis) => {
        const names = Array.from({ length: 1000 }, (_, i) => `scan:${i}`);
        await redis.mset(...names.flatMap((name) => [name, 'x']), 'other', 'x');
        const found = new Set();
        for await (const some of redis.scanStream({ match: 'scan:*', count: 50, type: 'string' })) {
          some.forEach((name) => found.add(name));
        }
        assert.deepEqual([...found].sort(), names.sort());
      }));

    test('duplicate() is a second connection alike', () =>
      using({ protocol, db: 3 }, async (redis) => {
        const twin = redis.duplicate();
        await redis.set('k', 'v');
        assert.equal(await twin.get('k'), 'v');
        assert.notEqual(await twin.client('ID'), await redis.client('ID'));
        twin.disconnect();
      }));

    test('a password, right, wrong and missing', async () => {
      const at = { protocol, host: locked.host, port: locked.port, maxRetriesPerRequest: 0, retryStrategy: null };
      await using({ ...at, password: PASSWORD }, async (redis) => assert.equal(await redis.ping(), 'PONG'));
      await using({ ...at, username: 'default', password: PASSWORD }, async (redis) => assert.equal(await redis.ping(), 'PONG'));
      await using({ ...at, password: 'wrong' }, (redis) => assert.rejects(redis.ping()));
      await using(at, (redis) => assert.rejects(redis.ping()));
    });

    test('killed by another connection, it reconnects', () =>
      using({ protocol, db: 2 }, async (redis) => {
        await redis.set('k', 'v');
        const id = await redis.client('ID');
        const closed = when(redis, 'close');
        await using({ protocol }, (other) => other.client('KILL', 'ID', id));
        await closed;
        assert.equal(await redis.get('k'), 'v');
      }));
  });
}

test('a Unix socket', async () => {
  const redis = new Redis(server.socketPath);
  assert.equal(await redis.set('k', 'v'), 'OK');
  assert.equal(await redis.get('k'), 'v');
  redis.disconnect();
});

test('fifty connections at once', async () => {
  const pool = Array.from({ length: 50 }, () => new Redis(server.port, server.host));
  await Promise.all(pool.flatMap((redis) => Array.from({ length: 20 }, () => redis.incr('n'))));
  assert.equal(await pool[0].get('n'), '1000');
  pool.forEach((redis) => redis.disconnect());
});

test('MONITOR', () =>
  using({}, async (redis) => {
    const monitor = await redis.monitor();
    const seen = once(monitor, 'monitor', { signal: AbortSignal.timeout(10_000) });
    await redis.set('watched', 'a b');
    const [, args, , database] = await seen;
    assert.deepEqual(args, ['set', 'watched', 'a b']);
    assert.equal(database, '0');
    monitor.disconnect();
  }));

test('a server that is gone and comes back', async () => {
  const own = await new Server().start();
  const redis = new Redis({ host: own.host, port: own.port, retryStrategy: () => 100, maxRetriesPerRequest: null });
  redis.on('error', () => {});
  await redis.set('k', 'before');
  const closed = when(redis, 'close');
  await own.stop('SIGKILL');
  await closed;
  const waiting = redis.get('k');
  await own.start();
  assert.equal(await waiting, null);
  redis.disconnect();
  await own.close();
});

function versionOf(info) {
  const [, major, minor] = /redis_version:(\d+)\.(\d+)\.\d+/.exec(info);
  return Number(major) * 100 + Number(minor);
}
