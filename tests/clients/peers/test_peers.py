"""The Python servers of the comparison answer as redis-server does, whatever bytes a request comes in.

redis-server takes part in every test, so that what is expected is shown to be right.
"""

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from server import ROOT, START_SECONDS, STOP_SECONDS, free_port

PYTHON = Path(os.environ["REDLET_PEERS_PYTHON"])
KINDS = ("asyncio-protocol", "asyncio-streams", "uvloop-protocol", "uvloop-streams", "gevent")
DISCONNECT_SECONDS = 5


def command(kind, port):
    if kind == "redis-server":
        return ["redis-server", "--bind", "127.0.0.1", "--save", "", "--port", str(port)]
    return [str(PYTHON), "-B", str(ROOT / "benches" / "peers"), kind, str(port)]


@pytest.fixture(scope="module", params=["redis-server", *KINDS])
def port(request, tmp_path_factory):
    port = free_port()
    log = tmp_path_factory.mktemp("peer") / "log"
    with log.open("wb") as output:
        # In its own directory, so that redis-server leaves nothing behind elsewhere.
        process = subprocess.Popen(command(request.param, port), stdout=output, stderr=output, cwd=log.parent)
    try:
        wait_until_it_listens(process, port, log)
        yield port
        assert process.poll() is None, f"{request.param} ended: {log.read_text()}"
        if request.param != "redis-server":
            assert log.read_text() == "", f"{request.param} complained"
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def wait_until_it_listens(process, port, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, f"ended at its start: {log.read_text()}"
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"does not listen: {log.read_text()}")


def request(*words):
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"".join(parts)


@pytest.fixture
def client(port):
    with socket.create_connection(("127.0.0.1", port), DISCONNECT_SECONDS) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield opened


def receive(client, size):
    received = b""
    while len(received) < size and (some := client.recv(size - len(received))):
        received += some
    return received


# Requests in order, each with its reply.
DIALOGUE = [
    ((b"PING",), b"+PONG\r\n"),
    ((b"ping", b"h\r\ni"), b"$4\r\nh\r\ni\r\n"),
    ((b"GET", b"absent"), b"$-1\r\n"),
    ((b"SET", b"k", b"v"), b"+OK\r\n"),
    ((b"set", b"k", b"\x00\r\n"), b"+OK\r\n"),
    ((b"GeT", b"k"), b"$3\r\n\x00\r\n\r\n"),
    ((b"SET", b"", b""), b"+OK\r\n"),
    ((b"GET", b""), b"$0\r\n\r\n"),
    ((b"DBSIZE",), b":2\r\n"),
    ((b"SET", b"k", b"v", b"NOPE"), b"-ERR syntax error\r\n"),
    ((b"SET", b"k"), b"-ERR wrong number of arguments for 'set' command\r\n"),
    ((b"GET",), b"-ERR wrong number of arguments for 'get' command\r\n"),
    ((b"PING", b"a", b"b"), b"-ERR wrong number of arguments for 'ping' command\r\n"),
    ((b"DBSIZE", b"a"), b"-ERR wrong number of arguments for 'dbsize' command\r\n"),
    ((b"FOO",), b"-ERR unknown command 'FOO', with args beginning with: \r\n"),
    ((b"FOO", b"a", b"b\r\nc"), b"-ERR unknown command 'FOO', with args beginning with: 'a' 'b  c' \r\n"),
    ((b"CONFIG", b"GET", b"save"), b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
    ((b"config", b"get", b"APPENDONLY"), b"*2\r\n$10\r\nAPPENDONLY\r\n$2\r\nno\r\n"),
    ((b"CONFIG", b"GET", b"nothing"), b"*0\r\n"),
]
SAID = b"".join(request(*words) for words, _ in DIALOGUE)
HEARD = b"".join(reply for _, reply in DIALOGUE)


def test_all_requests_in_one_segment(client):
    client.sendall(SAID)
    assert receive(client, len(HEARD)) == HEARD


def test_each_request_on_its_own(client):
    for words, reply in DIALOGUE:
        client.sendall(request(*words))
        assert receive(client, len(reply)) == reply, words


def test_requests_in_pieces(client):
    for start in range(0, len(SAID), 7):
        client.sendall(SAID[start : start + 7])
        time.sleep(0.001)
    assert receive(client, len(HEARD)) == HEARD


def test_requests_that_ask_for_nothing(client):
    client.sendall(b"*0\r\n*-1\r\n" + request(b"PING"))
    assert receive(client, 7) == b"+PONG\r\n"


def test_more_than_a_read_takes(client):
    value = bytes(range(256)) * 4096
    client.sendall(request(b"SET", b"large", value) + request(b"GET", b"large"))
    expected = b"+OK\r\n$%d\r\n%b\r\n" % (len(value), value)
    assert receive(client, len(expected)) == expected


@pytest.mark.parametrize("garbage", [b"*1\r\n!\r\n", b"*2\r\n$3\r\nGET\r\n*1\r\n$1\r\nk\r\n"], ids=["no type", "nested"])
def test_what_is_no_request_ends_the_connection(port, garbage):
    with socket.create_connection(("127.0.0.1", port), DISCONNECT_SECONDS) as client:
        client.sendall(request(b"PING") + garbage)
        heard = b""
        while some := client.recv(4096):
            heard += some
        assert heard.startswith(b"+PONG\r\n-ERR Protocol error"), heard


def test_a_client_that_takes_no_replies_holds_nobody_up(port):
    with socket.create_connection(("127.0.0.1", port), DISCONNECT_SECONDS) as deaf:
        deaf.sendall(request(b"SET", b"large", b"x" * 1_000_000) + request(b"GET", b"large") * 20)
        with socket.create_connection(("127.0.0.1", port), DISCONNECT_SECONDS) as other:
            other.sendall(request(b"PING"))
            assert receive(other, 7) == b"+PONG\r\n"


def test_redis_benchmark_runs_without_a_warning(port):
    arguments = ["-p", str(port), "-t", "get,set", "-n", "20000", "-r", "1000", "-P", "100", "-q"]
    done = subprocess.run(["redis-benchmark", *arguments], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.count("requests per second") >= 2 and "ERR" not in done.stdout, done.stdout
