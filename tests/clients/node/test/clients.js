// A client of either library, connected to a server, for as long as a test's body runs. No test belongs here.
import { setTimeout as sleep } from 'node:timers/promises';
import Redis from 'ioredis';
import { createClient } from 'redis';

const UNTIL_MILLIS = 15_000;

export async function withIoredis(server, options, body) {
  const redis = new Redis({ host: server.host, port: server.port, retryStrategy: () => 50, ...options });
  redis.on('error', () => {});
  try {
    return await body(redis);
  } finally {
    redis.disconnect();
  }
}

export async function withNodeRedis(server, options, body) {
  const socket = { host: server.host, port: server.port, reconnectStrategy: () => 50 };
  const client = createClient({ socket, ...options });
  client.on('error', () => {});
  await client.connect();
  try {
    return await body(client);
  } finally {
    client.destroy();
  }
}

// Asks again until `probe` gives something true, and returns that.
export async function until(probe) {
  const deadline = Date.now() + UNTIL_MILLIS;
  while (Date.now() < deadline) {
    const found = await probe();
    if (found) return found;
    await sleep(10);
  }
  throw new Error(`did not come true within ${UNTIL_MILLIS} ms: ${probe}`);
}
