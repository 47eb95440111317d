// Starts the server under test, redlet or redis-server, on a free port of the loopback. No test and no client belongs here.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
const BINARY = process.env.REDLET_TEST_SERVER ?? path.join(ROOT, 'target/debug/redlet');
const IS_REDLET = path.basename(BINARY) === 'redlet';
const START_MILLIS = 20_000;
const STOP_MILLIS = 10_000;

export class Server {
  host = '127.0.0.1';
  port = 0;
  #flags;
  #directory = mkdtempSync(path.join(tmpdir(), 'redlet-test-'));
  #process;

  constructor(...flags) {
    this.#flags = flags;
    this.socketPath = path.join(this.#directory, 's.sock');
  }

  async start() {
    const flags = ['--unixsocket', this.socketPath, ...this.#flags];
    const chosen = this.port !== 0;
    if (!IS_REDLET) {
      this.port ||= await freePort();
      flags.push('--bind', this.host, '--save', '', '--dir', this.#directory);
    }
    flags.push('--port', String(this.port));
    this.#process = spawn(BINARY, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (IS_REDLET && !chosen) {
      this.port = await this.#announcedPort();
    }
    // Whatever else it prints must not fill the pipe.
    this.#process.stdout.resume();
    await this.#untilItListens();
    return this;
  }

  // The exit code. A server that ignores the signal fails the test.
  async stop(signal = 'SIGTERM') {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return child?.exitCode;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = sleep(STOP_MILLIS, 'late', { ref: false });
    if ((await Promise.race([ended, late])) === 'late') {
      child.kill('SIGKILL');
      throw new Error(`still running ${STOP_MILLIS} ms after ${signal}`);
    }
    return child.exitCode;
  }

  async close() {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #announcedPort() {
    const lines = createInterface({ input: this.#process.stdout });
    const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(START_MILLIS) });
    lines.close();
    const port = /^PORT=(\d+)$/.exec(line)?.[1];
    if (!port) throw new Error(`first line is ${JSON.stringify(line)}`);
    return Number(port);
  }

  async #untilItListens() {
    const deadline = Date.now() + START_MILLIS;
    while (Date.now() < deadline) {
      if (this.#process.exitCode !== null) throw new Error(`${BINARY} ended at its start`);
      const socket = net.connect(this.port, this.host);
      try {
        await once(socket, 'connect');
        return;
      } catch {
        await sleep(20);
      } finally {
        socket.destroy();
      }
    }
    throw new Error(`${BINARY} does not listen on port ${this.port}`);
  }
}

// Waits for an event, whatever errors are reported meanwhile (events.once would reject at the first of them).
export function when(emitter, name) {
  return new Promise((resolve) => {
    emitter.once(name, resolve);
  });
}

async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
