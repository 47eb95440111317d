// Publish and subscribe, and the keyspace events that come through it, as ioredis and node-redis hear them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until, withIoredis, withNodeRedis } from './clients.js';
import { Server } from './server.js';

const server = new Server();
const NUMBERS = Array.from({ length: 1000 }, (_, i) => String(i));
const EVENTS = [
  ['__keyspace@0__:k', 'set'], ['__keyevent@0__:set', 'k'],
  ['__keyspace@0__:k', 'expire'], ['__keyevent@0__:expire', 'k'],
  ['__keyspace@0__:k', 'expired'], ['__keyevent@0__:expired', 'k'],
];

before(async () => {
  await server.start();
  await withIoredis(server, {}, (redis) => redis.config('SET', 'notify-keyspace-events', 'KEA'));
});
after(() => server.close());

for (const protocol of [2, 3]) {
  describe(`ioredis, RESP${protocol}`, () => {
    const using = (body) => withIoredis(server, { protocol }, body);
    // A publisher, and a second connection made from it that subscribes.
    const pair = (body) =>
      using(async (redis) => {
        const subscriber = redis.duplicate();
        subscriber.on('error', () => {});
        try {
          await body(redis, subscriber);
        } finally {
          subscriber.disconnect();
        }
      });

    test('channels and patterns', () =>
      pair(async (redis, subscriber) => {
        const heard = [];
        subscriber.on('message', (...message) => heard.push(message));
        subscriber.on('pmessage', (...message) => heard.push(message));
        assert.equal(await subscriber.subscribe('a', 'b'), 2);
        assert.equal(await subscriber.psubscribe('a*'), 3);
        assert.equal(await redis.publish('a', '1'), 2);
        assert.equal(await redis.publish('b', '2'), 1);
        assert.equal(await redis.publish('nobody', '3'), 0);
        await until(() => heard.length === 3);
        assert.deepEqual(heard, [['a', '1'], ['a*', 'a', '1'], ['b', '2']]);
        assert.deepEqual(await redis.pubsub('NUMSUB', 'a', 'nobody'), ['a', 1, 'nobody', 0]);
        assert.deepEqual((await redis.pubsub('CHANNELS')).sort(), ['a', 'b']);
        assert.equal(await redis.pubsub('NUMPAT'), 1);
        // By name: in RESP2 ioredis never comes back from unsubscribe() while patterns remain, whatever the server.
        assert.equal(await subscriber.unsubscribe('a'), 2);
        assert.equal(await subscriber.unsubscribe('b'), 1);
        assert.equal(await subscriber.punsubscribe('a*'), 0);
        assert.equal(await redis.publish('a', '4'), 0);
        assert.equal(await subscriber.get('absent'), null);
      }));

    test('binary messages', () =>
      pair(async (redis, subscriber) => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
        const heard = [];
        subscriber.on('messageBuffer', (...message) => heard.push(message));
        await subscriber.subscribe(bytes);
        await redis.publish(bytes, bytes);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, [[bytes, bytes]]);
      }));

    test('a pipeline and a transaction of messages keep their order', () =>
      pair(async (redis, subscriber) => {
        const heard = [];
        subscriber.on('message', (_, message) => heard.push(message));
        await subscriber.subscribe('c');
        const pipeline = redis.pipeline();
        NUMBERS.slice(0, 900).forEach((number) => pipeline.publish('c', number));
        await pipeline.exec();
        const multi = redis.multi();
        NUMBERS.slice(900).forEach((number) => multi.publish('c', number));
        await multi.exec();
        await until(() => heard.length === NUMBERS.length);
        assert.deepEqual(heard, NUMBERS);
      }));

    test('sharded channels', () =>
      pair(async (redis, subscriber) => {
        const heard = [];
        subscriber.on('smessage', (...message) => heard.push(message));
        assert.equal(await subscriber.ssubscribe('s'), 1);
        assert.equal(await redis.publish('s', 'elsewhere'), 0);
        assert.equal(await redis.spublish('s', 'x'), 1);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, [['s', 'x']]);
        assert.equal(await subscriber.sunsubscribe('s'), 0);
      }));

    test('a killed subscriber subscribes again', () =>
      pair(async (redis, subscriber) => {
        const heard = [];
        subscriber.on('message', (...message) => heard.push(message));
        await subscriber.subscribe('killed');
        assert.equal(await redis.client('KILL', 'TYPE', 'pubsub'), 1);
        await until(async () => (await redis.publish('killed', 'again')) === 1);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, [['killed', 'again']]);
      }));

    test('keyspace events', () =>
      pair(async (redis, subscriber) => {
        const heard = [];
        subscriber.on('pmessage', (_, channel, message) => heard.push([channel, message]));
        await subscriber.psubscribe('__key*__:*');
        await redis.set('k', 'v', 'PX', 100);
        await until(() => heard.length === EVENTS.length);
        assert.deepEqual(heard, EVENTS);
      }));
  });

  describe(`node-redis, RESP${protocol}`, () => {
    const using = (body) => withNodeRedis(server, { RESP: protocol }, body);
    const pair = (body) =>
      using(async (client) => {
        const subscriber = client.duplicate();
        subscriber.on('error', () => {});
        await subscriber.connect();
        try {
          await body(client, subscriber);
        } finally {
          subscriber.destroy();
        }
      });

    test('channels and patterns', () =>
      pair(async (client, subscriber) => {
        const heard = [];
        const listener = (message, channel) => heard.push([channel, message]);
        await subscriber.subscribe(['a', 'b'], listener);
        await subscriber.pSubscribe('a*', listener);
        assert.equal(await client.publish('a', '1'), 2);
        assert.equal(await client.publish('b', '2'), 1);
        assert.equal(await client.publish('nobody', '3'), 0);
        await until(() => heard.length === 3);
        assert.deepEqual(heard, [['a', '1'], ['a', '1'], ['b', '2']]);
        assert.deepEqual({ ...(await client.pubSubNumSub(['a', 'nobody'])) }, { a: 1, nobody: 0 });
        assert.deepEqual((await client.pubSubChannels()).sort(), ['a', 'b']);
        assert.equal(await client.pubSubNumPat(), 1);
        await subscriber.unsubscribe('a', listener);
        await subscriber.pUnsubscribe();
        assert.equal(await client.publish('a', '4'), 0);
        await subscriber.unsubscribe();
        assert.equal(await subscriber.get('absent'), null);
      }));

    test('binary messages', () =>
      pair(async (client, subscriber) => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
        const heard = [];
        await subscriber.subscribe('c', (message) => heard.push(message), true);
        await client.publish('c', bytes);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, [bytes]);
      }));

    test('messages of one tick and of a transaction keep their order', () =>
      pair(async (client, subscriber) => {
        const heard = [];
        await subscriber.subscribe('c', (message) => heard.push(message));
        await Promise.all(NUMBERS.slice(0, 900).map((number) => client.publish('c', number)));
        const multi = client.multi();
        NUMBERS.slice(900).forEach((number) => multi.publish('c', number));
        await multi.exec();
        await until(() => heard.length === NUMBERS.length);
        assert.deepEqual(heard, NUMBERS);
      }));

    test('sharded channels', () =>
      pair(async (client, subscriber) => {
        const heard = [];
        await subscriber.sSubscribe('s', (...message) => heard.push(message));
        assert.equal(await client.publish('s', 'elsewhere'), 0);
        assert.equal(await client.sPublish('s', 'x'), 1);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, [['x', 's']]);
        assert.deepEqual(await client.pubSubShardChannels(), ['s']);
        await subscriber.sUnsubscribe('s');
      }));

    test('a killed subscriber subscribes again', () =>
      pair(async (client, subscriber) => {
        const heard = [];
        await subscriber.subscribe('killed', (message) => heard.push(message));
        await subscriber.pSubscribe('kill?', () => {});
        assert.equal(await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub']), 1);
        await until(async () => (await client.publish('killed', 'again')) === 1);
        await until(() => heard.length === 1);
        assert.deepEqual(heard, ['again']);
      }));

    test('keyspace events', () =>
      pair(async (client, subscriber) => {
        const heard = [];
        await subscriber.pSubscribe('__key*__:*', (message, channel) => heard.push([channel, message]));
        await client.set('k', 'v', { expiration: { type: 'PX', value: 100 } });
        await until(() => heard.length === EVENTS.length);
        assert.deepEqual(heard, EVENTS);
      }));
  });
}

test('in RESP3 a subscribed connection goes on with its other requests', async () => {
  await withIoredis(server, { protocol: 3 }, async (redis) => {
    const heard = [];
    redis.on('message', (_, message) => heard.push(message));
    await redis.subscribe('own');
    const [set, published, get] = await Promise.all([redis.set('k', 'v'), redis.publish('own', 'x'), redis.get('k')]);
    assert.deepEqual([set, published, get], ['OK', 1, 'v']);
    await until(() => heard.length === 1);
  });
  await withNodeRedis(server, { RESP: 3 }, async (client) => {
    const heard = [];
    await client.subscribe('own', (message) => heard.push(message));
    const [set, published, get] = await Promise.all([client.set('k', 'v'), client.publish('own', 'x'), client.get('k')]);
    assert.deepEqual([set, published, get], ['OK', 1, 'v']);
    await until(() => heard.length === 1);
  });
});
