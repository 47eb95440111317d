"""Servers shared by the tests. Each test begins with an empty keyspace."""

import socket

import pytest
from server import PASSWORD, Server


def _serve(*flags):
    server = Server(*flags).start()
    try:
        yield server
    finally:
        server.stop()
        server.remove()


@pytest.fixture(scope="session")
def _shared():
    yield from _serve()


@pytest.fixture(scope="session")
def _shared_with_password():
    yield from _serve("--requirepass", PASSWORD)


@pytest.fixture
def server(_shared):
    """A server without a password, empty, and with the configuration it started with."""
    _flush(_shared)
    return _shared


@pytest.fixture
def locked(_shared_with_password):
    """A server that wants PASSWORD, and is empty."""
    _flush(_shared_with_password, f"AUTH '{PASSWORD}'")
    return _shared_with_password


@pytest.fixture
def own_server():
    """A server for one test, which may stop it."""
    server = Server()
    server.start()
    yield server
    server.stop()
    server.remove()


def _flush(server, *first):
    # Inline commands: what prepares a test does not depend on the client that is tested.
    with socket.create_connection((server.host, server.port), 10) as connection, connection.makefile("rb") as replies:
        for line in (*first, "FLUSHALL"):
            connection.sendall(line.encode() + b"\r\n")
            reply = replies.readline()
            assert reply == b"+OK\r\n", f"{line}: {reply!r}"
