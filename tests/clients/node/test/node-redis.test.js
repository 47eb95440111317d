// node-redis: defaults, both protocols, automatic pipelining, its pool, scan iterators, passwords, and a server that goes away.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, createClientPool, RESP_TYPES } from 'redis';
import { Server, when } from './server.js';

const PASSWORD = 'se cret\u00e9';
const server = new Server();
const locked = new Server('--requirepass', PASSWORD);

before(() => Promise.all([server.start(), locked.start()]));
after(() => Promise.all([server.close(), locked.close()]));

beforeEach(() => using({}, (client) => client.flushAll()));

const at = ({ host, port }) => ({ host, port });

// Runs `body` with a connected client of `options`, and always closes it.
async function using(options, body) {
  const client = createClient({ socket: at(server), ...options });
  client.on('error', () => {});
  await client.connect();
  try {
    return await body(client);
  } finally {
    client.destroy();
  }
}

test('everything left at its default', () =>
  using({}, async (client) => {
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.set('k', 'v'), 'OK');
    assert.equal(await client.get('k'), 'v');
    assert.equal(await client.get('absent'), null);
    assert.equal(await client.del(['k', 'absent']), 1);
    await assert.rejects(client.sendCommand(['NO-SUCH']), /unknown command 'NO-SUCH'/);
  }));

test('from a URL', async () => {
  const client = createClient({ url: `redis://${server.host}:${server.port}/4` });
  await client.connect();
  assert.equal((await client.clientInfo()).db, 4);
  await client.close();
});

for (const RESP of [2, 3]) {
  describe(`RESP${RESP}`, () => {
    test('the connection says who it is', () =>
      using({ RESP, name: 'the-name', database: 6 }, async (client) => {
        const info = await client.clientInfo();
        assert.equal(info.name, 'the-name');
        assert.equal(info.db, 6);
        assert.equal(info.cmd, 'client|info');
        if (versionOf(await client.info('server')) >= 702) {
          assert.equal(info.resp, RESP);
          assert.equal(info.libName, 'node-redis');
        }
        const listed = await client.clientList();
        assert.ok(listed.some(({ id }) => id === info.id));
      }));

    test('strings, keys and expiry', () =>
      using({ RESP }, async (client) => {
        const set = await client.set('k', '1', { expiration: { type: 'EX', value: 100 }, condition: 'NX' });
        assert.equal(set, 'OK');
        assert.equal(await client.set('k', '2', { condition: 'NX' }), null);
        assert.ok((await client.ttl('k')) > 0);
        assert.equal(await client.incr('k'), 2);
        assert.equal(Number(await client.incrByFloat('k', 0.5)), 2.5);
        assert.equal(await client.getEx('k', { type: 'PERSIST' }), '2.5');
        assert.equal(await client.ttl('k'), -1);
        assert.equal(await client.mSet({ a: '1', b: '2' }), 'OK');
        assert.deepEqual(await client.mGet(['a', 'absent', 'b']), ['1', null, '2']);
        const field = await client.bitField('f', [
          { operation: 'SET', encoding: 'u8', offset: 0, value: 255 },
          { operation: 'GET', encoding: 'u4', offset: 4 },
        ]);
        assert.deepEqual(field, [0, 15]);
        assert.equal(await client.type('a'), 'string');
        assert.ok(Number((await client.configGet('maxclients')).maxclients) > 0);
        assert.equal(await client.pExpire('a', 20), 1);
        await sleep(40);
        assert.equal(await client.get('a'), null);
        const lcs = await client.mSet({ x: 'ohmytext', y: 'mynewtext' }).then(() => client.lcsIdx('x', 'y'));
        assert.equal(lcs.len, 6);
      }));

    test('the server describes itself', () =>
      using({ RESP }, async (client) => {
        assert.match(await client.info(), /redis_version:\d+\.\d+\.\d+\r\n/);
        const get = (await client.commandInfo(['get']))[0];
        assert.equal(get.arity, 2);
        assert.equal((await client.command()).length, await client.commandCount());
        assert.ok((await client.time()) instanceof Date || Array.isArray(await client.time()));
      }));

    test('binary data', () =>
      using({ RESP }, async (client) => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
        await client.set(bytes, bytes);
        const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
        assert.deepEqual(await binary.get(bytes), bytes);
      }));

    test('1000 requests in one tick are one pipeline', () =>
      using({ RESP }, async (client) => {
        const numbers = Array.from({ length: 1000 }, (_, i) => i);
        await Promise.all(numbers.map((i) => client.set(`k${i}`, String(i))));
        const values = await Promise.all(numbers.map((i) => client.get(`k${i}`)));
        assert.deepEqual(values, numbers.map(String));
      }));

    test('execAsPipeline, with an error in the middle', () =>
      using({ RESP }, async (client) => {
        const replies = await client.multi().set('k', 'text').get('k').strLen('k').execAsPipeline();
        assert.deepEqual(replies, ['OK', 'text', 4]);
        const settled = await Promise.allSettled([client.incr('k'), client.get('k')]);
        assert.match(settled[0].reason.message, /value is not an integer or out of range/);
        assert.equal(settled[1].value, 'text');
      }));

    test('scanIterator', () =>
      using({ RESP }, async (client) => {
        const names = Array.from({ length: 1000 }, (_, i) => `scan:${i}`);
        await client.mSet([...names, 'other'].map((name) => [name, 'x']));
        const found = new Set();
        for await (const some of client.scanIterator({ MATCH: 'scan:*', COUNT: 50, TYPE: 'string' })) {
          some.forEach((name) => found.add(name));
        }
        assert.deepEqual([...found].sort(), names.sort());
      }));

    test('duplicate() is a second connection alike', () =>
      using({ RESP, database: 3 }, async (client) => {
        const twin = client.duplicate();
        await twin.connect();
        await client.set('k', 'v');
        assert.equal(await twin.get('k'), 'v');
        assert.notEqual(await twin.clientId(), await client.clientId());
        twin.destroy();
      }));

    test('a pool', async () => {
      const pool = createClientPool({ RESP, socket: at(server) }, { minimum: 2, maximum: 20 });
      pool.on('error', () => {});
      await pool.connect();
      const numbers = Array.from({ length: 400 }, (_, i) => i);
      await Promise.all(numbers.map((i) => pool.execute((client) => client.incrBy('n', i))));
      assert.equal(await pool.get('n'), String(numbers.reduce((sum, i) => sum + i)));
      pool.destroy();
    });

    test('a password, right, wrong and missing', async () => {
      const socket = { ...at(locked), reconnectStrategy: false };
      await using({ RESP, socket, password: PASSWORD }, async (client) => assert.equal(await client.ping(), 'PONG'));
      await using({ RESP, socket, username: 'default', password: PASSWORD }, async (client) => assert.equal(await client.ping(), 'PONG'));
      await assert.rejects(using({ RESP, socket, password: 'wrong' }, (client) => client.ping()), /WRONGPASS/);
      await assert.rejects(using({ RESP, socket }, (client) => client.ping()), /NOAUTH/);
    });

    test('killed by another connection, it reconnects', () =>
      using({ RESP, database: 2 }, async (client) => {
        await client.set('k', 'v');
        const id = await client.clientId();
        const ready = when(client, 'ready');
        await using({ RESP }, (other) => other.sendCommand(['CLIENT', 'KILL', 'ID', String(id)]));
        await ready;
        assert.equal(await client.get('k'), 'v');
        assert.notEqual(await client.clientId(), id);
      }));
  });
}

test('a Unix socket', async () => {
  const client = createClient({ socket: { path: server.socketPath } });
  await client.connect();
  assert.equal(await client.set('k', 'v'), 'OK');
  assert.equal(await client.get('k'), 'v');
  client.destroy();
});

test('MONITOR', () =>
  using({}, async (client) => {
    const monitor = client.duplicate();
    await monitor.connect();
    const { promise, resolve } = withResolvers();
    await monitor.monitor((line) => line.includes('watched') && resolve(line));
    await client.set('watched', 'a b');
    assert.match(await promise, /^\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "watched" "a b"$/);
    monitor.destroy();
  }));

test('a server that is gone and comes back', async () => {
  const own = await new Server().start();
  const client = createClient({ socket: { ...at(own), reconnectStrategy: () => 100 } });
  client.on('error', () => {});
  await client.connect();
  await client.set('k', 'before');
  const reconnecting = when(client, 'reconnecting');
  await own.stop('SIGKILL');
  await reconnecting;
  const waiting = client.get('k');
  await own.start();
  assert.equal(await waiting, null);
  client.destroy();
  await own.close();
});

function versionOf(info) {
  const [, major, minor] = /redis_version:(\d+)\.(\d+)\.\d+/.exec(info);
  return Number(major) * 100 + Number(minor);
}

// Promise.withResolvers, which Node 20 lacks.
function withResolvers() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
