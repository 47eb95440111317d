// The client-side cache of node-redis, of one connection and of a pool. It needs RESP3.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { BasicClientSideCache, BasicPooledClientSideCache, createClientPool } from 'redis';
import { until, withNodeRedis } from './clients.js';
import { Server } from './server.js';

const server = new Server();

before(() => server.start());
after(() => server.close());
beforeEach(() => withNodeRedis(server, {}, (client) => client.flushAll()));

// A client with a cache, and a client without one.
function using(body) {
  const clientSideCache = new BasicClientSideCache({ recordStats: true });
  // A server that refuses the cache is a failure at once, not one to try again.
  const socket = { host: server.host, port: server.port, reconnectStrategy: false };
  return withNodeRedis(server, { RESP: 3, socket, clientSideCache }, (client) =>
    withNodeRedis(server, {}, (other) => body(client, other, clientSideCache)),
  );
}

async function gets(other) {
  return Number(/cmdstat_get:calls=(\d+)/.exec(await other.info('commandstats'))?.[1] ?? 0);
}

test('a hit does not reach the server', () =>
  using(async (client, other, cache) => {
    await other.set('k', 'v');
    const before = await gets(other);
    for (let i = 0; i < 50; i += 1) assert.equal(await client.get('k'), 'v');
    assert.equal(await gets(other), before + 1);
    assert.equal(cache.stats().hitCount, 49);
    assert.equal(cache.size(), 1);
  }));

const WRITES = {
  SET: (other) => other.set('k', 'new'),
  DEL: (other) => other.del('k'),
  RENAME: (other) => other.rename('k', 'elsewhere'),
  'a transaction': (other) => other.multi().set('a', '1').append('k', '2').exec(),
  FLUSHDB: (other) => other.flushDb(),
  FLUSHALL: (other) => other.flushAll(),
};

for (const [name, write] of Object.entries(WRITES)) {
  test(`${name} of another connection invalidates`, () =>
    using(async (client, other, cache) => {
      await other.set('k', 'v');
      assert.equal(await client.get('k'), 'v');
      const invalidated = [];
      cache.on('invalidate', (key) => invalidated.push(key));
      await write(other);
      await until(() => cache.size() === 0);
      assert.ok(invalidated.length > 0);
      assert.equal(await client.get('k'), await other.get('k'));
    }));
}

test('its own write invalidates', () =>
  using(async (client, other, cache) => {
    await client.set('k', 'v');
    assert.equal(await client.get('k'), 'v');
    await client.set('k', 'w');
    await until(() => cache.size() === 0);
    assert.equal(await client.get('k'), 'w');
  }));

test('a deadline that passes invalidates', () =>
  using(async (client, other, cache) => {
    await other.set('k', 'v', { expiration: { type: 'PX', value: 150 } });
    assert.equal(await client.get('k'), 'v');
    await until(() => cache.size() === 0);
    assert.equal(await client.get('k'), null);
  }));

test('a pool shares one cache', async () => {
  const clientSideCache = new BasicPooledClientSideCache({ recordStats: true });
  const socket = { host: server.host, port: server.port, reconnectStrategy: false };
  const pool = createClientPool({ RESP: 3, socket }, { minimum: 3, maximum: 3, clientSideCache });
  pool.on('error', () => {});
  await pool.connect();
  try {
    await withNodeRedis(server, {}, async (other) => {
      await other.set('k', 'v');
      assert.equal(await pool.get('k'), 'v');
      const before = await gets(other);
      assert.deepEqual(await Promise.all(Array.from({ length: 30 }, () => pool.get('k'))), Array(30).fill('v'));
      assert.equal(await gets(other), before);
      await other.set('k', 'w');
      await until(async () => (await pool.get('k')) === 'w');
    });
  } finally {
    pool.destroy();
  }
});
